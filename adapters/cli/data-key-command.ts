import { HoldfastError, replaceDataKey } from '../../src/index.ts'
import { postgres } from '../postgres/index.ts'
import { readArguments } from './arguments.ts'
import { print, printJson } from './output.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

/** `data-key replace`: of a data directory that no server has open. */
export async function replaceKey(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, { values: ['data-dir', 'config'], switches: ['forget-secrets', 'json'] })
  if (given === null) return false
  const { dataDir, config } = readDirectorySettings(given.flags, env)
  const forgetSecrets = given.switches.has('forget-secrets')
  const lost = await replaceDataKey(dataDir, { forgetSecrets, database: config.database, catalogue: postgres })
  if (given.switches.has('json')) printJson({ ...lost })
  else {
    print(`data.key ${lost.problem}; what it had sealed cannot be opened:`)
    print(`  second factors: ${listOf(lost.secondFactors)}`)
    print(`  webhooks: ${listOf(lost.webhooks)}`)
    print(`  private keys of the node: ${listOf(lost.privateKeys)}`)
    if (lost.replaced) print('all of it has been given up, and a new data.key made')
  }
  if (lost.replaced) return true
  throw new HoldfastError('CONFLICT', 'nothing was changed: --forget-secrets gives that up and makes a new data.key')
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}
