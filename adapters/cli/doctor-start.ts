import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isHoldfastError, startRefusals } from '../../src/index.ts'
import { type CheckResult, fault, fine } from './check-result.ts'
import { checkDescriptors } from './descriptors.ts'
import { serverAdapters } from './server-adapters.ts'
import type { Environment, ServerSettings } from './settings.ts'

const CHECK = 'start'
const REMEDY = 'the next start is refused until then'

/** Runs the checks of a start without a start. Each error of a start is a fault, in the words of the start. */
export async function checkStart(
  { config, dataDir }: Pick<ServerSettings, 'config' | 'dataDir'>,
  environment: Environment,
  isRunning: boolean,
): Promise<CheckResult[]> {
  const faults = (await startRefusals({ ...config, dataDir, environment, ...serverAdapters })).map(
    error => error.message,
  )
  const owner = isRunning ? null : ownerOf(dataDir)
  if (owner !== null) faults.push(`${dataDir} is in use by another running Holdfast (pid ${owner}): stop it first`)
  faults.push(...descriptorProblem())
  return faults.length === 0 ? [fine(CHECK, 'nothing refuses it')] : faults.map(text => fault(CHECK, text, REMEDY))
}

function descriptorProblem(): string[] {
  try {
    checkDescriptors()
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
