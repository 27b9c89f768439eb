import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HoldfastError } from '../../src/domain/errors.ts'
import { suggestion } from '../../src/domain/near-names.ts'

/** Values of a command's flags by name. Every flag except `help` takes a value. */
export type Flags<Name extends string> = { [name in Name]?: string }

export type CommonFlag = 'data-dir' | 'config'

export interface Grammar<Name extends string, List extends string, Switch extends string> {
  /** Flags `--name value` that may occur once. */
  values: readonly Name[]
  /** Flags `--name value` that may be repeated. */
  lists?: readonly List[]
  /** Flags `--name` without a value. */
  switches?: readonly Switch[]
  /** Arguments without a flag. Default: none. */
  words?: { what: string; min: number; max: number }
}

export interface Arguments<Name extends string, List extends string, Switch extends string> {
  flags: Flags<Name>
  lists: { readonly [name in List]: readonly string[] }
  switches: ReadonlySet<Switch>
  words: readonly string[]
}

/** Creates the error for arguments that the help of the command explains. */
function grammarError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message, { details: { help: 'command' } })
}

/** Creates the error for wrong usage, after which the program exits with code 2. */
export function usageError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Parses arguments. `--` ends the flags. Returns null if `--help` was given.
 * @throws HoldfastError `VALIDATION` for arguments that the grammar does not allow
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
  if (extra !== undefined) throw grammarError(`unexpected argument ${extra}`)
  if (positionals.length < words.min) throw grammarError(`${words.what} is needed`)
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
 * Parses flags that all have a value. Returns null if `--help` was given.
 * @throws HoldfastError `VALIDATION` for a flag that is not in `names`
 */
export function readFlags<Name extends string>(args: readonly string[], names: readonly Name[]): Flags<Name> | null {
  return readArguments(args, { values: names })?.flags ?? null
}

/** Throws a HoldfastError `VALIDATION` if the flag is missing or empty. */
export function requireFlag<Name extends string>(flags: Flags<Name>, name: Name): string {
  const value = flags[name]
  if (value === undefined || value.trim() === '') throw grammarError(`--${name} is needed`)
  return value
}

/** Splits the value of a flag at its commas. */
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
    // Shows only the first sentence of Node's message. Node appends advice, sometimes on further lines.
    const message = error instanceof Error ? error.message : String(error)
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? []
    if (unknown === undefined) throw grammarError(message.split(/\.\s|\n/, 1)[0] ?? message)
    throw grammarError(`unknown flag --${unknown}${suggestion(unknown, Object.keys(options), '--')}`)
  }
}
