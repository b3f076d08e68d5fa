/** Text without percent-encoding; a text whose encoding is broken is returned unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
