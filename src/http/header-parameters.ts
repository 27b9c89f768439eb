const SPACE = new Set([' ', '\t', '\r', '\n'])

/**
 * Parses header parameters such as `; key=value; key="quoted value"` from `start`, in linear time.
 * The caller must decode the escapes `\"` and `\\` in quoted values. Many clients do not escape backslashes: if the
 * only possible closing quote follows a backslash, that quote ends the value.
 *
 * @returns the first value of each lower-case key, or null if the text is malformed
 */
export function readParameters(text: string, start: number): Map<string, string> | null {
  const parameters = new Map<string, string>()
  let at = skipSpace(text, start)
  while (at < text.length) {
    if (text[at] !== ';') return null
    at = skipSpace(text, at + 1)
    // A semicolon at the end of the text is ignored.
    if (at === text.length) break
    const keyEnd = endOfToken(text, at, ';"=')
    const key = text.slice(at, keyEnd).toLowerCase()
    at = skipSpace(text, keyEnd)
    if (key === '' || text[at] !== '=') return null
    at = skipSpace(text, at + 1)
    const quoted = text[at] === '"'
    const end = quoted ? closingQuote(text, at + 1) : endOfToken(text, at, ';"')
    if (end === -1) return null
    if (!parameters.has(key)) parameters.set(key, text.slice(quoted ? at + 1 : at, end))
    at = skipSpace(text, quoted ? end + 1 : end)
  }
  return parameters
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (SPACE.has(text[at] ?? '')) at++
  return at
}

function endOfToken(text: string, start: number, stops: string): number {
  let at = start
  while (at < text.length && !SPACE.has(text[at] ?? '') && !stops.includes(text[at] ?? '')) at++
  return at
}

function closingQuote(text: string, start: number): number {
  let escaped = -1
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] !== '\\') continue
    const next = text[at + 1]
    if (next !== '"' && next !== '\\') continue
    at++
    if (next === '"') escaped = at
  }
  return escaped
}
