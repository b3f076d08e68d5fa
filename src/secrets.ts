// Keys of this gateway in places where no key belongs, such as a model's name or a path: never written down nor sent back.

/** More of a secret than a person is shown to recognise it by. A path may hold it percent-encoded. */
const KEY = /sk(?:-|%2[dD])gw(?:-|%2[dD])[0-9A-Za-z]{10,}/g;

export function withoutKeys(text: string): string {
  return text.includes('gw') ? text.replace(KEY, 'sk-gw-[redacted]') : text;
}
