import { isHoldfastError } from '../../src/domain/errors.ts'
import { nearestName } from '../../src/domain/near-names.ts'
import { VERSION } from '../../src/domain/version.ts'
import { ALIASES } from './aliases.ts'
import { usageError } from './arguments.ts'
import { COMMANDS } from './commands.ts'
import { describeError, isRefusal } from './failure.ts'
import { HELP, type HelpTopic } from './help.ts'
import { print } from './output.ts'
import type { Environment } from './settings.ts'

/**
 * Runs a command. Prints its error, if any, as one line to standard error.
 * @returns the exit code: 0 for success, 1 for failure, 2 for wrong usage, 3 for an upload without some entries
 */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<number> {
  let help = 'holdfast --help'
  try {
    if (args.length === 1 && (args[0] === '--version' || args[0] === 'version')) {
      print(VERSION)
      return 0
    }
    const { topic, rest } = findTopic(args.length === 0 ? ['--help'] : args)
    if (topic !== '') help = `holdfast ${topic} --help`
    const command = wantsHelp(rest) ? undefined : await COMMANDS.get(topic)?.()
    if (command === undefined && !wantsHelp(rest)) throw unknownCommand(topic, rest, help)
    const done = command !== undefined && (await command(rest, env))
    if (!done) print(HELP[topic])
    return 0
  } catch (error) {
    return report(error, help)
  }
}

/** Finds the topic of the arguments. Treats `help COMMAND` like `COMMAND --help`. */
function findTopic([first = '', ...others]: readonly string[]): { topic: HelpTopic; rest: readonly string[] } {
  if (first === 'help') {
    const { topic, rest } = findTopic(others)
    return { topic, rest: [...rest, ...(rest.length === 0 ? ['--help'] : [])] }
  }
  const alias = Object.hasOwn(ALIASES, first) ? ALIASES[first] : undefined
  const args = first === '' ? [] : [alias ?? first, ...others]
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    if (name !== '' && isTopic(name)) return { topic: name, rest: args.slice(length) }
  }
  return { topic: '', rest: args }
}

function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function unknownCommand(topic: HelpTopic, [typed, next = '']: readonly string[], help: string): Error {
  if (typed === undefined) return usageError(`a command is needed, see ${help}`)
  if (typed.startsWith('-')) return usageError(`a command is needed before ${typed}, see ${help}`)
  const name = `${topic} ${typed}`.trim()
  const inGroup = [...COMMANDS.keys()].filter(each => each.startsWith(`${name} `))
  if (inGroup.length > 0 && next === '') return usageError(`a command is needed: ${inGroup.join(', ')}`)
  const names = [...Object.keys(HELP), ...Object.keys(ALIASES)]
  const near = nearestName(`${name} ${next}`, names) ?? nearestName(name, names)
  return usageError(`unknown command ${name}${near === undefined ? '' : `, did you mean ${near}?`}, see ${help}`)
}

function isTopic(name: string): name is HelpTopic {
  return Object.hasOwn(HELP, name)
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
