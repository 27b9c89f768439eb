import { checkConfig, HoldfastError, isHoldfastError } from '../../src/index.ts'
import { readArguments } from './arguments.ts'
import { checkBackups, checkDirectory } from './doctor-disk.ts'
import { checkServer } from './doctor-server.ts'
import { endWithReader, print, printJson } from './output.ts'
import { countOf, formatBytes, formatTable } from './printed-text.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, LEAST_MEMORY_BYTES, readServerSettings, type ServerSettings } from './settings.ts'

/** Result of one check. The remedy is empty if the level is `ok`. */
export interface Finding {
  check: string
  level: 'ok' | 'warning' | 'fault'
  text: string
  remedy: string
}

/** Checks the configuration, the machine and the running server, and changes nothing. */
export async function doctor(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, {
    values: ['host', 'port', 'gateway-port', 'data-dir', 'config', 'key'],
    lists: ['backup'],
    switches: ['json'],
  })
  if (given === null) return false
  endWithReader()
  const findings = await examine(given.flags, given.lists.backup, env)
  if (given.switches.has('json')) for (const finding of findings) printJson(finding)
  else print(formatTable(findings.map(rowOf)))
  const faults = findings.filter(({ level }) => level === 'fault').length
  if (faults > 0) throw new HoldfastError('CONFLICT', `${countOf(faults, 'fault')} found`)
  return true
}

async function examine(
  flags: Parameters<typeof readServerSettings>[0] & { key?: string },
  backups: readonly string[],
  env: Environment,
): Promise<Finding[]> {
  try {
    const settings = readServerSettings(flags, env)
    const { config } = settings
    const { disk, clusters } = await checkConfig(config, 'config', serverAdapters.adapters)
    const places = (clusters ?? []).flatMap(({ dataDir, alsoIn = [] }) => [...(dataDir ? [dataDir] : []), ...alsoIn])
    const directories = [...new Set([settings.dataDir, ...places])]
    const parts = await Promise.all([
      checkServer(settings, flags.key ?? (env.HOLDFAST_API_KEY || undefined)),
      ...directories.map(path => checkDirectory(path, disk?.reserveBytes)),
      checkBackups([...backups, ...(config.backupRoots ?? [])], Date.now()),
    ])
    return [{ check: 'configuration', level: 'ok', text: 'valid', remedy: '' }, ...parts.flat(), ...limits(settings)]
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    const remedy = 'correct it, and check it with holdfast serve --check-config'
    return [{ check: 'configuration', level: 'fault', text: error.message, remedy }]
  }
}

function limits({ memoryBytes, config }: ServerSettings): Finding[] {
  const hasMemory = memoryBytes >= LEAST_MEMORY_BYTES
  const isProxied = config.publicUrl?.startsWith('https:') === true
  const { trustedProxies = 0 } = config
  const isBlind = isProxied && trustedProxies === 0
  return [
    {
      check: 'memory',
      level: hasMemory ? 'ok' : 'warning',
      text: `the limit is ${formatBytes(memoryBytes)}`,
      remedy: hasMemory ? '' : `allow at least ${formatBytes(LEAST_MEMORY_BYTES)}`,
    },
    {
      check: 'proxy',
      level: isBlind ? 'warning' : 'ok',
      text: `trustedProxies is ${trustedProxies}${isBlind ? ', but publicUrl is https: all clients share one address' : ''}`,
      remedy: isBlind ? 'set trustedProxies to the number of proxies before this server' : '',
    },
  ]
}

function rowOf({ check, level, text, remedy }: Finding): string[] {
  return [level, check, remedy === '' ? text : `${text}; ${remedy}`]
}
