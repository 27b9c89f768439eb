import { usageError } from './arguments.ts'

/** @throws HoldfastError `VALIDATION` */
export function metaFlag(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined
  const entries = given.map((text): [string, string] => {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`--meta must be KEY=VALUE, not ${text}`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}
