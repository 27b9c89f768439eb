const REPLACEMENT = '\ufffd'

/** Error message for a text that {@link isText} rejects. The name of the field precedes it. */
export const UNKEPT = 'must not contain U+0000 or half of a surrogate pair'

/** Returns whether every catalogue can store a text. PostgreSQL cannot store U+0000 or half of a surrogate pair. */
export function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

export function keptText(value: string): string {
  return isText(value) ? value : value.replaceAll('\0', REPLACEMENT).toWellFormed()
}

/**
 * Searches arrays and plain objects, including their keys, for a text that {@link isText} rejects. Returns the name of
 * the text's field.
 * @param field name of the given value; empty for an object whose fields have their own names
 */
export function unkeptIn(given: unknown, field: string): string | null {
  const seen = new Set<object>()
  const waiting: [field: string, value: unknown][] = [[field, given]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, value] = next
    if (typeof value === 'string' && !isText(value)) return name
    if (!isPlain(value) || seen.has(value)) continue
    seen.add(value)
    for (const [key, inner] of Object.entries(value)) {
      if (!isText(key)) return `the key ${JSON.stringify(key)}`
      waiting.push([name === '' ? key : `${name}.${key}`, inner])
    }
  }
  return null
}

/** Returns whether a value is a plain object. An instance of a class is none. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === Object.prototype || prototype === null
}
