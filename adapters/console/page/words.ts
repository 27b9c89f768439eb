/** Words of browsers for a request without an answer. */
const NO_ANSWER = /Failed to fetch|NetworkError when|Load failed/

/** Describes an error as a sentence for the user. */
export function wordsFor(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (NO_ANSWER.test(text)) return 'The server does not answer. Check your connection, and whether the server runs'
  return text.replace(/^(cid|url)\b/, field => field.toUpperCase()).replace(/^[a-z]/, letter => letter.toUpperCase())
}
