import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HoldfastError } from '../../src/domain/errors.ts'
import { suggestion } from '../../src/domain/near-names.ts'
import type { CommandSpec, Flag, Words } from './command-spec.ts'

type Values = Record<string, string | number | boolean | readonly (string | boolean)[] | undefined>

const NO_WORDS: Words = { usage: '', what: '', min: 0, max: 0 }

/** Creates the error for arguments that the help of the command explains. */
function grammarError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message, { details: { help: 'command' } })
}

/** Creates the error for wrong usage, after which the program exits with code 2. */
export function usageError(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/** Creates the error for a flag that a command needs. */
export function missingFlag(name: string): HoldfastError {
  return grammarError(`--${name} is needed`)
}

/**
 * Parses the arguments of a command. `--` ends the flags. The flags have the types of `Flags` for the command.
 * @throws HoldfastError `VALIDATION` for arguments that the command does not allow, and without a required one
 */
export function readArguments(
  args: readonly string[],
  { flags: table, words = NO_WORDS }: Pick<CommandSpec, 'flags' | 'words'>,
): { flags: Values; words: readonly string[] } {
  const entries = Object.entries(table)
  const options: Record<string, ParseArgsOptionDescriptor> = {}
  for (const [name, { value, many = false, alias }] of entries) {
    const option = { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: many }
    options[name] = option
    if (alias !== undefined) options[alias] = option
  }
  const { values, positionals } = parse(args, options)
  const extra = positionals[words.max]
  if (extra !== undefined) throw grammarError(`unexpected argument ${extra}`)
  if (positionals.length < words.min) throw grammarError(`${words.what} is needed`)
  // An empty path would be the working directory. It usually comes from a variable that is not set.
  if (positionals.includes('')) throw grammarError('an argument is empty (is a variable not set?)')
  const flags = entries.map(([name, flag]) => [name, readFlag(values, name, flag)] as const)
  return { flags: Object.fromEntries(flags.filter(([, value]) => value !== undefined)), words: positionals }
}

function readFlag(values: Values, name: string, flag: Flag): Values[string] {
  const { value, least, many, required, mayBeEmpty, alias = name } = flag
  if (value === undefined) {
    if (required && values[name] !== true) throw missingFlag(name)
    return values[name] === true
  }
  if (many) return values[name] ?? []
  const given = values[alias] ?? values[name]
  const isEmpty = typeof given === 'string' && given.trim() === ''
  if (required && (given === undefined || isEmpty)) throw missingFlag(name)
  // Without this, the variable of `--host "$ADDRESS"` that is not set would mean all addresses.
  if (isEmpty && !mayBeEmpty) throw grammarError(`--${name} needs a value`)
  return least === undefined || given === undefined ? given : wholeNumber(name, String(given), least)
}

function wholeNumber(name: string, text: string, least: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : -1
  if (number >= least) return number
  throw usageError(`--${name} must be a whole number${least > 0 ? ` from ${least} on` : ''}`)
}

/** Splits the value of a flag at its commas. */
export function splitList(text: string | undefined): string[] | undefined {
  return text
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
    const [, dashes = '', flag = ''] = /^(?:Unknown option|Option) '(--?)([^\s'=]+)/.exec(message) ?? []
    if (message.startsWith('Unknown')) {
      const names = dashes === '--' ? [...Object.keys(options), 'help'] : []
      throw grammarError(`unknown flag ${dashes}${flag}${suggestion(flag, names, '--')}`)
    }
    if (message.includes('does not take')) throw grammarError(`--${flag} takes no value`)
    throw grammarError(flag === '' ? (message.split(/\.\s|\n/, 1)[0] ?? message) : `--${flag} needs a value`)
  }
}
