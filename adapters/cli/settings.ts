import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type EngineConfig, type Environment, HoldfastError, parseConfig } from '../../src/index.ts'
import type { MetricsReaders } from '../node-http/index.ts'
import { usageError } from './arguments.ts'
import type { DIRECTORY_FLAGS, Flags } from './command-spec.ts'
import { DEFAULT_DATA_DIR } from './compile-cache.ts'
import { memoryLimit } from './memory-limit.ts'
import type { MetricsAddress } from './metrics-listener.ts'
import { serverAdapters } from './server-adapters.ts'

export type { Environment } from '../../src/index.ts'

/** Environment variable with an API key of the owner. */
export const BOOTSTRAP_VARIABLE = 'HOLDFAST_BOOTSTRAP_KEY'

/** Flags that name a data directory and its configuration. */
export type DirectoryFlags = Flags<typeof DIRECTORY_FLAGS>

export interface Settings {
  /** Absolute path. */
  dataDir: string
  config: EngineConfig
}

export interface ServerSettings extends Settings {
  host: string
  /** 0 for any free port. */
  port: number
  /** 0 for any free port. Null if the API has the last port, so that there is no next port. */
  gatewayPort: number | null
  /** True if the user set the gateway's port. The start then fails if the port is taken. */
  isGatewayPortGiven: boolean
  /** 0 for none. Undefined for one thread per core, up to four, if there is enough memory. */
  gatewayThreads: number | undefined
  /** Longest time for open answers after a stop signal, while `/ready` reports that the server stops. */
  drainSeconds: number
  logLevel: string
  bootstrapKey: string | undefined
  /** Readers that may get `/metrics`. */
  metricsReaders: MetricsReaders
  /** Undefined if metrics have no separate listener. */
  metricsAddress: MetricsAddress | undefined
  memoryBytes: number
  /** Size of libuv's thread pool, if the environment sets one. */
  threadPoolSize: number | undefined
}

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 4100
const LAST_PORT = 65_535
const MOST_GATEWAY_THREADS = 32
/** Long enough for a download of some minutes, and for those that begin meanwhile. */
const DEFAULT_DRAIN_SECONDS = 120
const MOST_DRAIN_SECONDS = 300
/** Least memory in bytes with which a server is tested. */
export const LEAST_MEMORY_BYTES = 256 * 1024 ** 2
const DEFAULT_LOG_LEVEL = 'info'
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads the settings. Flags override environment variables. @throws HoldfastError `CONFIG_INVALID`. */
function readSettings(flags: DirectoryFlags, env: Environment): Settings {
  const file = flags.config ?? given(env.HOLDFAST_CONFIG)
  return {
    dataDir: resolve(flags['data-dir'] ?? given(env.HOLDFAST_DATA_DIR) ?? DEFAULT_DATA_DIR),
    config: file === undefined ? {} : readConfigFile(resolve(file)),
  }
}

/**
 * Reads the settings. Refuses a missing data directory, so that a typo does not create one.
 * @throws HoldfastError `CONFIG_INVALID`; `NOT_FOUND` if the data directory does not exist, or may not be read.
 */
export function readDirectorySettings(flags: DirectoryFlags, env: Environment): Settings {
  const settings = readSettings(flags, env)
  const { dataDir } = settings
  try {
    statSync(join(dataDir, 'holdfast.db'))
  } catch (error) {
    const text =
      (error as NodeJS.ErrnoException).code === 'EACCES'
        ? `this user may not read ${dataDir} (EACCES): run the command as the user of the server`
        : `${dataDir} is not a data directory: holdfast serve makes one at its first start, with an account of the owner`
    throw new HoldfastError('NOT_FOUND', text)
  }
  return settings
}

/** Throws a HoldfastError `CONFIG_INVALID` or `VALIDATION`. */
export function readServerSettings(
  flags: DirectoryFlags & { readonly [Name in 'host' | 'port' | 'gateway-port']?: string },
  env: Environment,
): ServerSettings {
  const port = readPort(flags.port, '--port', env, 'HOLDFAST_PORT') ?? DEFAULT_PORT
  const gatewayPort = readPort(flags['gateway-port'], '--gateway-port', env, 'HOLDFAST_GATEWAY_PORT')
  return {
    ...readSettings(flags, env),
    host: flags.host ?? given(env.HOLDFAST_HOST) ?? DEFAULT_HOST,
    port,
    gatewayPort: gatewayPort ?? gatewayPortFor(port),
    isGatewayPortGiven: gatewayPort !== undefined,
    gatewayThreads: readGatewayThreads(given(env.HOLDFAST_GATEWAY_THREADS)),
    drainSeconds: readDrainSeconds(given(env.HOLDFAST_DRAIN_SECONDS)),
    logLevel: readLogLevel(given(env.HOLDFAST_LOG_LEVEL) ?? DEFAULT_LOG_LEVEL),
    metricsReaders: readMetricsReaders(env),
    metricsAddress: readMetricsAddress(given(env.HOLDFAST_METRICS_LISTEN)),
    bootstrapKey: given(env[BOOTSTRAP_VARIABLE]),
    memoryBytes: readMemory(given(env.HOLDFAST_MEMORY_BYTES)) ?? memoryLimit(),
    threadPoolSize: readThreadPoolSize(env.UV_THREADPOOL_SIZE),
  }
}

function readPort(flag: string | undefined, name: string, env: Environment, variable: string): number | undefined {
  const source = flag === undefined ? variable : name
  const text = flag ?? given(env[variable])
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= LAST_PORT)) throw usageError(`${source} must be a port number from 0 (any free one) to ${LAST_PORT}`)
  return port
}

function readGatewayThreads(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const threads = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  if (threads <= MOST_GATEWAY_THREADS) return threads
  throw usageError(`HOLDFAST_GATEWAY_THREADS must be a number from 0 (none) to ${MOST_GATEWAY_THREADS}`)
}

function readMemory(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const bytes = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (bytes >= LEAST_MEMORY_BYTES) return bytes
  throw usageError(`HOLDFAST_MEMORY_BYTES must be a number of bytes, at least ${LEAST_MEMORY_BYTES}`)
}

function readDrainSeconds(text: string | undefined): number {
  if (text === undefined) return DEFAULT_DRAIN_SECONDS
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (seconds <= MOST_DRAIN_SECONDS) return seconds
  throw usageError(`HOLDFAST_DRAIN_SECONDS must be a number from 0 to ${MOST_DRAIN_SECONDS}`)
}

/** Returns the port after the API's, or null if there is no such port. */
function gatewayPortFor(port: number): number | null {
  if (port === 0) return 0
  return port === LAST_PORT ? null : port + 1
}

function readLogLevel(level: string): string {
  if (!LOG_LEVELS.includes(level)) throw usageError(`HOLDFAST_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`)
  return level
}

function readMetricsReaders(env: Environment): MetricsReaders {
  const metricsFor = given(env.HOLDFAST_METRICS) ?? 'loopback'
  if (metricsFor !== 'loopback' && metricsFor !== 'all' && metricsFor !== 'nobody') {
    throw usageError('HOLDFAST_METRICS must be one of loopback, all, nobody')
  }
  const metricsToken = given(env.HOLDFAST_METRICS_TOKEN)
  if (metricsToken === undefined) return { metricsFor }
  if (!/^[\x21-\x7e]{16,1024}$/.test(metricsToken)) {
    throw usageError('HOLDFAST_METRICS_TOKEN must be 16 to 1,024 printable ASCII characters without spaces')
  }
  return { metricsFor, metricsToken }
}

/** Parses `9464`, `127.0.0.1:9464` or `[::1]:9464`. A port without a host means a loopback address. */
function readMetricsAddress(text: string | undefined): MetricsAddress | undefined {
  if (text === undefined) return undefined
  const colon = text.lastIndexOf(':')
  const host = colon === -1 ? DEFAULT_HOST : text.slice(0, colon).replace(/^\[/, '').replace(/\]$/, '')
  const port = /^\d{1,5}$/.test(text.slice(colon + 1)) ? Number(text.slice(colon + 1)) : Number.NaN
  if (host === '' || !(port <= 65_535)) throw usageError('HOLDFAST_METRICS_LISTEN must be a port, or host:port')
  return { host, port }
}

function readThreadPoolSize(text: string | undefined): number | undefined {
  const size = Number(text)
  return Number.isInteger(size) && size > 0 ? size : undefined
}

function readConfigFile(file: string): EngineConfig {
  let value: unknown
  try {
    // Some editors begin a file with a byte order mark, which JSON does not allow.
    value = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replaceAll('\n', ' ') : String(cause)
    const problem = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
    throw new HoldfastError('CONFIG_INVALID', `config file ${file} ${problem}: ${reason}`, { cause })
  }
  const source = `config file ${file}`
  return besideFile(parseConfig(engineFields(value, source), source, serverAdapters.adapters), dirname(file))
}

/** Names of settings that users look for in the file, as {@link plainName} has them, with what sets them. */
const NOT_IN_FILE = new Map([
  ['host', '--host or HOLDFAST_HOST'],
  ['port', '--port or HOLDFAST_PORT'],
  ['gatewayport', '--gateway-port or HOLDFAST_GATEWAY_PORT'],
  ['datadir', '--data-dir or HOLDFAST_DATA_DIR'],
  ['loglevel', 'HOLDFAST_LOG_LEVEL'],
  ['metrics', 'HOLDFAST_METRICS'],
  ['memorybytes', 'HOLDFAST_MEMORY_BYTES'],
])

/** Returns a name without its case and its word separators, which differ between flags, variables and fields. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Returns the value of the file without the field `$schema`, which only editors read. */
function engineFields(value: unknown, source: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  for (const name of Object.keys(value)) {
    const way = NOT_IN_FILE.get(plainName(name))
    if (way === undefined) continue
    throw new HoldfastError('CONFIG_INVALID', `${source}: ${name} is no field of the file; set it with ${way}`)
  }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '$schema'))
}

/** Resolves relative paths against the directory of the configuration file. */
function besideFile(config: EngineConfig, directory: string): EngineConfig {
  const { importRoots, backupRoots, clusters, gateway, oidc } = config
  return {
    ...config,
    ...(backupRoots && { backupRoots: backupRoots.map(root => resolve(directory, root)) }),
    ...(importRoots && { importRoots: importRoots.map(root => resolve(directory, root)) }),
    ...(oidc?.clientSecretFile && {
      oidc: { ...oidc, clientSecretFile: resolve(directory, oidc.clientSecretFile) },
    }),
    ...(gateway?.denylist && { gateway: { ...gateway, denylist: resolve(directory, gateway.denylist) } }),
    ...(clusters && {
      clusters: clusters.map(cluster => ({
        ...cluster,
        ...(cluster.dataDir !== undefined && { dataDir: resolve(directory, cluster.dataDir) }),
        ...(cluster.alsoIn && { alsoIn: cluster.alsoIn.map(path => resolve(directory, path)) }),
      })),
    }),
  }
}

/** Treats an empty variable as unset. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}

/** Enables the network by default, unlike an embedded engine. */
export function networkOf({ network }: EngineConfig): NonNullable<EngineConfig['network']> {
  return { enabled: true, ...network }
}
