import { checkConfig, HoldfastError, isHoldfastError } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { type CheckResult, fault, fine, warning } from './check-result.ts'
import { checkBackups } from './doctor-backup.ts'
import { checkClockBehind, checkClusterDirectory, checkDataDirectory } from './doctor-disk.ts'
import { checkFreePorts, checkGatewayPort, checkNetworkPorts } from './doctor-ports.ts'
import { askOwner, checkRunning, runningVersion } from './doctor-server.ts'
import { checkSignIn } from './doctor-sign-in.ts'
import { checkStart } from './doctor-start.ts'
import { print, printJson } from './output.ts'
import { countOf, formatBytes, formatTable } from './printed-text.ts'
import { timeNow } from './real-time.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, LEAST_MEMORY_BYTES, readServerSettings, type ServerSettings } from './settings.ts'

/** Checks the configuration, the machine and the running server, and changes nothing. */
export async function doctor(given: GivenTo<'doctor'>, env: Environment): Promise<void> {
  const findings = await examine(given, env)
  if (given.flags.json) for (const finding of findings) printJson(finding)
  else print(formatTable(findings.map(rowOf)))
  const faults = findings.filter(({ level }) => level === 'fault').length
  if (faults > 0) throw new HoldfastError('CONFLICT', `${countOf(faults, 'fault')} found`)
}

/** Resolves the settings as `serve` does. A wrong setting is a finding, and the only one. */
async function examine({ flags }: GivenTo<'doctor'>, env: Environment): Promise<CheckResult[]> {
  try {
    const settings = readServerSettings(flags, env)
    const { disk, clusters = [] } = await checkConfig(settings.config, 'config', serverAdapters.adapters)
    const { dataDir, config } = settings
    const version = await runningVersion(settings)
    const places = clusters.flatMap(each => [each.dataDir ?? [], each.alsoIn ?? []].flat())
    const directoryOf = (path: string) => ({ path, reserveBytes: disk?.reserveBytes })
    const parts = await Promise.all([
      fine('configuration', 'valid'),
      memory(settings),
      version === null ? checkStopped(settings) : checkServer(settings, version, flags.key, env),
      checkStart(settings, env, version !== null),
      checkDataDirectory(directoryOf(dataDir), version !== null),
      ...[...new Set(places)].map(path => checkClusterDirectory(directoryOf(path))),
      checkClockBehind(dataDir, timeNow()),
      trust(settings),
      checkSignIn(settings, env),
      checkBackups([...flags.backup, ...(config.backupRoots ?? [])], timeNow()),
    ])
    return parts.flat()
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return [fault('configuration', error.message, 'correct it: nothing else is checked until then')]
  }
}

async function checkStopped(settings: ServerSettings): Promise<CheckResult[]> {
  return [...(await checkFreePorts(settings)), await checkNetworkPorts(settings)]
}

async function checkServer(
  settings: ServerSettings,
  version: string,
  key: string | undefined,
  env: Environment,
): Promise<CheckResult[]> {
  return [
    fine(`port ${settings.port}`, `Holdfast ${version} answers`),
    ...(await checkGatewayPort(settings)),
    ...(await checkRunning(settings)),
    ...(await askOwner(settings, key, env)),
  ]
}

function memory({ memoryBytes }: ServerSettings): CheckResult {
  const text = `the limit is ${formatBytes(memoryBytes)}`
  if (memoryBytes >= LEAST_MEMORY_BYTES) return fine('memory', text)
  return warning('memory', text, `allow at least ${formatBytes(LEAST_MEMORY_BYTES)}`)
}

/** Compares `trustedProxies` with the addresses of the server. */
function trust({ host, config: { publicUrl, trustedProxies = 0 } }: ServerSettings): CheckResult {
  const isLocal = /^(?:127\.|::1$|localhost$)/.test(host)
  if (trustedProxies === 0 && publicUrl?.startsWith('https:')) {
    const text = 'publicUrl is https, but trustedProxies is 0: all clients share one address'
    return warning('proxy', text, 'set trustedProxies to the number of proxies before this server')
  }
  if (trustedProxies > 0 && !isLocal) {
    const text = `trustedProxies is ${trustedProxies}: who reaches ${host} without the proxy can forge an address`
    return warning('proxy', text, 'listen on 127.0.0.1, or let a firewall admit only the proxy')
  }
  return fine('proxy', `trustedProxies is ${trustedProxies}`)
}

function rowOf({ check, level, text, remedy }: CheckResult): string[] {
  return [level, check, remedy === '' ? text : `${text}; ${remedy}`]
}
