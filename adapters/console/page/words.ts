/** Describes an error as a sentence for the user. */
export function wordsFor(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/^(cid|url)\b/, field => field.toUpperCase()).replace(/^[a-z]/, letter => letter.toUpperCase())
}
