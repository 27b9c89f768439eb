import type { CommandName } from './all-commands.ts'
import { usageError } from './arguments.ts'
import { COMMAND_HABITS, COMMAND_HINTS, FLAG_HABITS, FLAG_HINTS } from './habit-tables.ts'

/**
 * Replaces the name that another program has for a command.
 * @throws HoldfastError `VALIDATION` with a hint, for a name without a command
 */
export function inOurWords(args: readonly string[]): readonly string[] {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    const hint = COMMAND_HINTS.get(name)
    if (hint !== undefined) throw usageError(`there is no command ${name}: ${hint}`)
    const command = COMMAND_HABITS.get(name)
    if (command !== undefined && args.length >= length) return [...command.split(' '), ...args.slice(length)]
  }
  return args
}

/**
 * Replaces the flags that other programs have for those of a command. Flags for what the command does anyway are
 * dropped.
 * @throws HoldfastError `VALIDATION` with a hint, for a flag whose meaning the command does not have
 */
export function withOurFlags(command: CommandName, args: readonly string[]): string[] {
  const end = args.indexOf('--')
  const [before, behind] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end)]
  const known = new Map([...(FLAG_HABITS['*'] ?? []), ...(FLAG_HABITS[command] ?? [])])
  const hints = new Map([...(FLAG_HINTS['*'] ?? []), ...(FLAG_HINTS[command] ?? [])])
  return [...before.flatMap(letters).flatMap(flag => ours(flag)), ...behind]

  function ours(arg: string): string[] {
    const [flag = '', ...value] = arg.startsWith('-') ? arg.split(/(?==)/) : []
    const hint = known.has(flag) ? undefined : hints.get(flag)
    if (hint !== undefined) throw usageError(`holdfast ${command} has no ${flag}: ${hint}`)
    const same = known.get(flag)
    if (same === undefined) return [arg]
    return same === '' ? [] : [same + value.join('')]
  }
}

/** Splits flags such as `-la`. */
function letters(arg: string): string[] {
  return /^-[A-Za-z]{2,3}$/.test(arg) ? [...arg.slice(1)].map(letter => `-${letter}`) : [arg]
}
