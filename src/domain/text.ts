/** Stands for a character that cannot be stored. */
const REPLACEMENT = '\ufffd'

/** Error for a text that {@link isText} refuses; the name of its field goes before it. */
export const UNKEPT = 'must not contain U+0000 or half of a surrogate pair'

/**
 * Checks whether every catalogue can store a text. PostgreSQL stores neither U+0000 nor half of a surrogate pair, so no
 * catalogue takes them.
 */
export function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** Replaces the characters of a text that catalogues cannot store. */
export function keptText(value: string): string {
  return isText(value) ? value : value.replaceAll('\0', REPLACEMENT).toWellFormed()
}

/**
 * Searches arrays and plain objects, keys included, for a text that {@link isText} refuses. Returns the name of its
 * field, or null.
 *
 * @param field name of the given value; empty for an object whose fields have names of their own
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

/** Checks for an array, or an object that is no instance of a class. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === Object.prototype || prototype === null
}
