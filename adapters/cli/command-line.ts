import { isHoldfastError } from '../../src/domain/errors.ts'
import { nearestName } from '../../src/domain/near-names.ts'
import { VERSION } from '../../src/domain/version.ts'
import { ALIASES, COMMAND_TABLE, type CommandName, type GivenTo, GROUPS, isCommand, SECTIONS } from './all-commands.ts'
import { readArguments, usageError } from './arguments.ts'
import { COMMANDS, type Command } from './commands.ts'
import { describeError, isRefusal } from './failure.ts'
import { inOurWords, withOurFlags } from './habits.ts'
import { helpOf } from './help.ts'
import { endWithReader, print } from './output.ts'
import type { Environment } from './settings.ts'

const VERSION_WORDS = ['--version', 'version', '-v', '-V']

/**
 * Runs a command. Prints its error, if any, as one line to standard error.
 * @returns the exit code: 0 for success, 1 for failure, 2 for wrong usage, 3 for an upload without some entries
 */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<number> {
  let help = 'holdfast --help'
  try {
    if (args.length === 1 && VERSION_WORDS.includes(args[0] ?? '')) {
      print(VERSION)
      return 0
    }
    const { topic, rest } = findTopic(args.length === 0 ? ['--help'] : args)
    if (topic !== '') help = `holdfast ${topic} --help`
    // A server goes on without a reader of its output.
    if (topic !== 'serve' || wantsHelp(rest)) endWithReader()
    if (wantsHelp(rest)) print(helpOf(topic))
    else if (isCommand(topic)) await runCommand(topic, withOurFlags(topic, rest), env)
    else throw unknownCommand(topic, rest, help)
    return 0
  } catch (error) {
    return report(error, help)
  }
}

async function runCommand<Name extends CommandName>(
  name: Name,
  args: readonly string[],
  env: Environment,
): Promise<void> {
  const given = readArguments(args, COMMAND_TABLE[name])
  const command: Command<Name> = await COMMANDS[name]()
  // The arguments have the types that the entry of the command gives them.
  await command(given as unknown as GivenTo<Name>, env)
}

/** Finds the topic of the arguments. Treats `help COMMAND` like `COMMAND --help`. */
function findTopic([first = '', ...others]: readonly string[]): { topic: string; rest: readonly string[] } {
  if (first === 'help') {
    const { topic, rest } = findTopic(others)
    return { topic, rest: [...rest, ...(rest.length === 0 ? ['--help'] : [])] }
  }
  const [word = '', ...words] = inOurWords([first, ...others])
  const args = word === '' ? [] : [ALIASES.get(word) ?? word, ...words]
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    if (isCommand(name) || GROUPS.has(name)) return { topic: name, rest: args.slice(length) }
  }
  return { topic: '', rest: args }
}

function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function unknownCommand(topic: string, [typed, next = '']: readonly string[], help: string): Error {
  if (typed === undefined) return usageError(`a command is needed, see ${help}`)
  if (typed.startsWith('-')) return usageError(`a command is needed before ${typed}, see ${help}`)
  const name = `${topic} ${typed}`.trim()
  const names = [...SECTIONS.flatMap(({ commands }) => commands), ...GROUPS, ...ALIASES.keys()]
  const near = nearestName(`${name} ${next}`, names) ?? nearestName(name, names)
  return usageError(`unknown command ${name}${near === undefined ? '' : `, did you mean ${near}?`}, see ${help}`)
}

function report(error: unknown, help: string): number {
  if (!isHoldfastError(error)) {
    console.error('holdfast: unexpected failure:', error)
    return 1
  }
  const hint = error.details.help === 'command' ? `, see ${help}` : ''
  console.error(`holdfast: ${describeError(error)}${hint}`)
  if (isRefusal(error)) return 1
  if (error.details.result === 'incomplete') return 3
  return error.code === 'VALIDATION' || error.code === 'CONFIG_INVALID' ? 2 : 1
}
