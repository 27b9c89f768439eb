/** What went wrong, as a sentence for people. */
export function wordsFor(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/^cid\b/, 'CID').replace(/^[a-z]/, letter => letter.toUpperCase())
}
