import { HoldfastError, replaceDataKey } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { print, printJson } from './output.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

export async function replaceKey(given: GivenTo<'data-key replace'>, env: Environment): Promise<void> {
  const { dataDir, config } = readDirectorySettings(given.flags, env)
  const forgetSecrets = given.flags['forget-secrets']
  const lost = await replaceDataKey(dataDir, {
    forgetSecrets,
    database: config.database,
    catalogue: serverAdapters.catalogue,
  })
  if (given.flags.json) printJson({ ...lost })
  else {
    print(`data.key ${lost.problem}; these secrets cannot be opened:`)
    print(`  second factors: ${listOf(lost.secondFactors)}`)
    print(`  webhooks: ${listOf(lost.webhooks)}`) // feature: webhooks
    print(`  private keys of the node: ${listOf(lost.privateKeys)}`)
    if (lost.replaced) print('dropped all of them, and created a new data.key')
  }
  if (lost.replaced) return
  throw new HoldfastError('CONFLICT', 'nothing was changed: --forget-secrets drops them and creates a new data.key')
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}
