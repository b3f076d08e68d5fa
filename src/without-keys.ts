// Redacts keys of this gateway in places where no key belongs, such as a model's name or a path: they are never logged or sent back.

/** A key, or a secret of the admin API (`sk-gwa-…`), or more of it than the prefix that is shown to people. In a path it may be percent-encoded; before an ellipsis it is cut. */
const KEY =
  /(?:s|%73)(?:k|%6b)(?:-|%2d)(?:g|%67)(?:w|%77)(?:[a-z]|%6[1-9a-f]|%7[0-9a])?(?:-|%2d)(?:(?:[0-9A-Za-z]|%[0-9a-f]{2}){10,}|(?:[0-9A-Za-z]|%[0-9a-f]{2})+(?=…))/gi;

export function withoutKeys(text: string): string {
  return text.includes('gw') || text.includes('%') ? text.replace(KEY, 'sk-gw-[redacted]') : text;
}
