/** The text without the slashes it ends in. Written out, because a regular expression takes quadratic time for it. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '/') end--
  return text.slice(0, end)
}
