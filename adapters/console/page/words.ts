/** Describes an error in a sentence. */
export function wordsFor(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/^cid\b/, 'CID').replace(/^[a-z]/, letter => letter.toUpperCase())
}
