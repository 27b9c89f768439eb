/** Words of browsers for a request without an answer. */
const NO_ANSWER = /Failed to fetch|NetworkError when|Load failed/

/** A field of the API before a message. The form has its own name for the field. */
const FIELD = /^[a-z]+[A-Z]\w*: /

/** Describes an error as a sentence for the user. */
export function wordsFor(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (NO_ANSWER.test(text)) return 'The server does not answer. Check your connection, and whether the server runs'
  const said = text.replace(FIELD, '').replace(/^(cid|url)\b/, name => name.toUpperCase())
  return said.replace(/^[a-z]/, letter => letter.toUpperCase())
}
