/** What went wrong, as a sentence for people. */
export function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.charAt(0).toUpperCase() + text.slice(1)
}
