import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Values of a command's flags by name. Every flag except `help` takes a value. */
export type Flags<Name extends string> = { [name in Name]?: string }

/** Flags of every command that uses a data directory. */
export type CommonFlag = 'data-dir' | 'config'

/** Arguments that a command accepts besides `--help`. */
export interface Grammar<Name extends string, List extends string, Switch extends string> {
  /** Flags of the form `--name value`, which may occur once. */
  values: readonly Name[]
  /** Flags of the form `--name value`, which may be repeated. */
  lists?: readonly List[]
  /** Flags of the form `--name`, without a value. */
  switches?: readonly Switch[]
  /** Arguments without a flag: what they are, and how many are allowed. Default: none. */
  words?: { what: string; min: number; max: number }
}

export interface Arguments<Name extends string, List extends string, Switch extends string> {
  flags: Flags<Name>
  lists: { readonly [name in List]: readonly string[] }
  switches: ReadonlySet<Switch>
  words: readonly string[]
}

/** Creates the error for wrong usage. The program prints the message and exits with code 2. */
export function usageError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Parses the arguments of a command. `--` ends the flags. Returns null if `--help` was given.
 *
 * @throws HoldfastError `VALIDATION` for arguments that the grammar does not allow, and for too few or too many words.
 */
export function readArguments<Name extends string, List extends string = never, Switch extends string = never>(
  args: readonly string[],
  grammar: Grammar<Name, List, Switch>,
): Arguments<Name, List, Switch> | null {
  const { values: names, lists = [], switches = [], words = { what: '', min: 0, max: 0 } } = grammar
  const options: Record<string, ParseArgsOptionDescriptor> = { help: { type: 'boolean', short: 'h' } }
  for (const name of names) options[name] = { type: 'string' }
  for (const name of lists) options[name] = { type: 'string', multiple: true }
  for (const name of switches) options[name] = { type: 'boolean' }
  const { values, positionals } = parse(args, options)
  if (values.help === true) return null
  const extra = positionals[words.max]
  if (extra !== undefined) throw usageError(`unexpected argument ${extra}`)
  if (positionals.length < words.min) throw usageError(`${words.what} is needed`)
  const flags: Flags<Name> = {}
  for (const name of names) {
    const value = values[name]
    if (typeof value === 'string') flags[name] = value
  }
  const given = lists.map(name => [name, (values[name] ?? []) as readonly string[]])
  return {
    flags,
    lists: Object.fromEntries(given) as { [name in List]: readonly string[] },
    switches: new Set(switches.filter(name => values[name] === true)),
    words: positionals,
  }
}

/**
 * Parses `--name value` and `--name=value`. Returns null if `--help` was given.
 *
 * @throws HoldfastError `VALIDATION` for a flag that is not in `names`.
 */
export function readFlags<Name extends string>(args: readonly string[], names: readonly Name[]): Flags<Name> | null {
  return readArguments(args, { values: names })?.flags ?? null
}

/** Returns the value of a required flag. @throws HoldfastError `VALIDATION` if the flag is missing or empty. */
export function requireFlag<Name extends string>(flags: Flags<Name>, name: Name): string {
  const value = flags[name]
  if (value === undefined || value.trim() === '') throw usageError(`--${name} is needed`)
  return value
}

/** Splits the value of a flag at its commas. Returns undefined if the flag is missing. */
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
    // Keeps only the first sentence. Node appends advice, sometimes on further lines.
    const message = error instanceof Error ? error.message : String(error)
    throw usageError(message.split(/\.\s|\n/, 1)[0] ?? message)
  }
}
