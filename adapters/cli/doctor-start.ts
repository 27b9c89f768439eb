import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checkChosenSecret } from '../../src/domain/chosen-secret.ts'
import { isHoldfastError, startRefusals } from '../../src/index.ts'
import { openTelemetry } from '../opentelemetry/index.ts'
import { type CheckResult, fault, fine } from './check-result.ts'
import { checkDescriptors } from './descriptors.ts'
import { serverAdapters } from './server-adapters.ts'
import { BOOTSTRAP_VARIABLE, type Environment, networkOf, type ServerSettings } from './settings.ts'

const CHECK = 'start'
const REMEDY = 'the next start is refused until then'

/** Runs the checks of a start without a start. Each error of a start is a fault, in the words of the start. */
export async function checkStart(
  { config, dataDir, bootstrapKey }: Pick<ServerSettings, 'config' | 'dataDir' | 'bootstrapKey'>,
  environment: Environment,
  isRunning: boolean,
): Promise<CheckResult[]> {
  const faults = (
    await startRefusals({ ...config, network: networkOf(config), dataDir, environment, ...serverAdapters })
  ).map(error => error.message)
  const owner = isRunning ? null : ownerOf(dataDir)
  if (owner !== null) faults.push(`${dataDir} is in use by another running Holdfast (pid ${owner}): stop it first`)
  faults.push(...(await problemOf(checkDescriptors)))
  if (config.tracing === true) faults.push(...(await problemOf(openTelemetry)))
  const key = bootstrapKey === undefined ? [] : await problemOf(() => checkChosenSecret(bootstrapKey))
  faults.push(...key.map(problem => `${BOOTSTRAP_VARIABLE}: ${problem}`))
  return faults.length === 0 ? [fine(CHECK, 'nothing refuses it')] : faults.map(text => fault(CHECK, text, REMEDY))
}

async function problemOf(check: () => unknown): Promise<string[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return [error.message]
  }
}

/**
 * Returns the id of the process that holds the lock of a data directory. Null if there is none, and on systems without
 * `/proc/locks`.
 */
function ownerOf(dataDir: string): string | null {
  try {
    const { ino } = statSync(join(dataDir, 'datastore', 'LOCK'))
    const locks = readFileSync('/proc/locks', 'utf8').split('\n')
    const held = locks.map(line => line.trim().split(/\s+/)).find(words => words[5]?.endsWith(`:${ino}`))
    return held?.[4] ?? null
  } catch {
    return null
  }
}
