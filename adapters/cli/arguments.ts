import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HoldfastError } from '../../src/domain/errors.ts'

/** The flags of a command by name; all take a value but `help`. */
export type Flags<Name extends string> = { [name in Name]?: string }

/** What commands on the data directory understand. */
export type CommonFlag = 'data-dir' | 'config'

/** What a command understands beside `--help`. */
export interface Grammar<Name extends string, List extends string, Switch extends string> {
  /** `--name value`, at most once. */
  values: readonly Name[]
  /** `--name value`, as often as wanted. */
  lists?: readonly List[]
  /** `--name`. */
  switches?: readonly Switch[]
  /** What stands without a flag; nothing unless given. */
  words?: { what: string; min: number; max: number }
}

export interface Arguments<Name extends string, List extends string, Switch extends string> {
  flags: Flags<Name>
  lists: { readonly [name in List]: readonly string[] }
  switches: ReadonlySet<Switch>
  words: readonly string[]
}

/** Wrong usage: the command line ends with its message and exit code 2. */
export function usageError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Reads the arguments of a command; `--` ends the flags. Null if help is wanted.
 *
 * @throws HoldfastError `VALIDATION` for what the grammar does not have, and for too few or too many words.
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
 * Reads `--name value` and `--name=value`. Null if help is wanted.
 *
 * @throws HoldfastError `VALIDATION` for anything that is not one of the names.
 */
export function readFlags<Name extends string>(args: readonly string[], names: readonly Name[]): Flags<Name> | null {
  return readArguments(args, { values: names })?.flags ?? null
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
