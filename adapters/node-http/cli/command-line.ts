import { isHoldfastError } from '../../../src/index.ts'
import {
  createAccount,
  deleteAccount,
  disableAccount,
  disableSecondFactor,
  enableAccount,
  endSessions,
  listAccounts,
  listSessions,
  setAccountPassword,
  setAccountPlan,
} from './account-commands.ts'
import { usageError } from './arguments.ts'
import { backUp, reconcile, restore } from './backup-commands.ts'
import { exportPins } from './export-command.ts'
import { HELP, type HelpTopic } from './help.ts'
import { importCar } from './import-command.ts'
import { createKey, listKeys, revokeKey } from './key-commands.ts'
import { list } from './list-command.ts'
import { print } from './output.ts'
import { accounts, collect, stats, verify } from './owner-commands.ts'
import { pin } from './pin-command.ts'
import { serve } from './serve.ts'
import type { Environment } from './settings.ts'
import { remove, status } from './status-command.ts'
import { addTakedown, listTakedowns, removeTakedown } from './takedown-commands.ts'
import { upload } from './upload-command.ts'

/** Does one command and returns false if help was wanted instead. */
type Command = (args: readonly string[], env: Environment) => Promise<boolean>

const COMMANDS = new Map<HelpTopic, Command>([
  ['upload', upload],
  ['import', importCar],
  ['export', exportPins],
  ['ls', list],
  ['pin', pin],
  ['status', status],
  ['rm', remove],
  ['serve', serve],
  ['stats', stats],
  ['gc', collect],
  ['verify', verify],
  ['reconcile', reconcile],
  ['backup', backUp],
  ['restore', restore],
  ['accounts', accounts],
  ['takedown add', addTakedown],
  ['takedown list', listTakedowns],
  ['takedown remove', removeTakedown],
  ['account create', createAccount],
  ['account list', listAccounts],
  ['account set-plan', setAccountPlan],
  ['account set-password', setAccountPassword],
  ['account disable-2fa', disableSecondFactor],
  ['account disable', disableAccount],
  ['account enable', enableAccount],
  ['account delete', deleteAccount],
  ['account sessions', listSessions],
  ['account end-sessions', endSessions],
  ['key create', createKey],
  ['key list', listKeys],
  ['key revoke', revokeKey],
])

/**
 * Runs the command that the arguments name, to its end. Results go to standard output, what went wrong as one line to
 * standard error.
 *
 * @returns the exit code: 0, 1 if the command failed, 2 if it was used wrongly
 */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<number> {
  try {
    const { topic, rest } = findTopic(args)
    const command = COMMANDS.get(topic)
    const done = command === undefined ? wantsHelp(topic, rest) : await command(rest, env)
    if (!done) print(HELP[topic])
    return 0
  } catch (error) {
    return report(error)
  }
}

function findTopic(args: readonly string[]): { topic: HelpTopic; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    if (isTopic(name)) return { topic: name, rest: args.slice(length) }
  }
  return { topic: '', rest: args }
}

/** For what only groups commands; its one flag is `--help`. */
function wantsHelp(topic: HelpTopic, [first]: readonly string[]): false {
  if (first === '--help' || first === '-h') return false
  const help = topic === '' ? 'holdfast --help' : `holdfast ${topic} --help`
  const problem = first === undefined ? 'a command is needed' : `unknown command ${[topic, first].join(' ').trim()}`
  throw usageError(`${problem}, see ${help}`)
}

function isTopic(name: string): name is HelpTopic {
  return Object.hasOwn(HELP, name)
}

function report(error: unknown): number {
  if (!isHoldfastError(error)) {
    console.error('holdfast: unexpected failure:', error)
    return 1
  }
  console.error(`holdfast: ${error.message}`)
  return error.code === 'VALIDATION' || error.code === 'CONFIG_INVALID' ? 2 : 1
}
