import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HoldfastError } from '../../../src/index.ts'

/** The flags of a command by name; all take a value but `help`. */
export type Flags<Name extends string> = { [name in Name]?: string }

/** What every command understands. */
export type CommonFlag = 'data-dir' | 'config'

/** Wrong usage: the command line ends with its message and exit code 2. */
export function usageError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Reads `--name value` and `--name=value`. Null if help is wanted.
 *
 * @throws HoldfastError `VALIDATION` for anything that is not one of the names.
 */
export function readFlags<Name extends string>(args: readonly string[], names: readonly Name[]): Flags<Name> | null {
  const options: Record<string, ParseArgsOptionDescriptor> = { help: { type: 'boolean', short: 'h' } }
  for (const name of names) options[name] = { type: 'string' }
  const { values, positionals } = parse(args, options)
  if (values.help === true) return null
  if (positionals[0] !== undefined) throw usageError(`unexpected argument ${positionals[0]}`)
  const flags: Flags<Name> = {}
  for (const name of names) {
    const value = values[name]
    if (typeof value === 'string') flags[name] = value
  }
  return flags
}

/** @throws HoldfastError `VALIDATION` if the flag is missing or empty. */
export function requireFlag<Name extends string>(flags: Flags<Name>, name: Name): string {
  const value = flags[name]
  if (value === undefined || value.trim() === '') throw usageError(`--${name} is needed`)
  return value
}

/** The items of a list such as `a,b`; undefined if the flag is not given. */
export function listFlag<Name extends string>(flags: Flags<Name>, name: Name): string[] | undefined {
  return flags[name]
    ?.split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

function parse(args: readonly string[], options: Record<string, ParseArgsOptionDescriptor>) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
  } catch (error) {
    // Node adds advice after the first sentence, on further lines for some.
    const message = error instanceof Error ? error.message : String(error)
    throw usageError(message.split(/\.\s|\n/, 1)[0] ?? message)
  }
}
