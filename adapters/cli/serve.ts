import { type Logger, pino } from 'pino'
import { checkConfig, type Engine, type EngineConfig, HoldfastError, isHoldfastError, SCOPES } from '../../src/index.ts'
import { loadHandlers } from '../../src/wiring/loaded-handlers.ts'
import { createConsole } from '../console/index.ts'
import {
  connectionsOfEach,
  createServer,
  PrometheusMetrics,
  type Readers,
  startReaders,
  stopGracefully,
  watchLoop,
} from '../node-http/index.ts'
import { openTelemetry } from '../opentelemetry/index.ts'
import type { GivenTo } from './all-commands.ts'
import { usageError } from './arguments.ts'
import { writeCompiled } from './compile-cache.ts'
import { consoleUrl, passwordLinkUrl } from './console-url.ts'
import { checkDescriptors } from './descriptors.ts'
import { cannotListen, listen, localUrl, urlHost } from './listener.ts'
import { LogLines } from './log-lines.ts'
import { listenForMetrics } from './metrics-listener.ts'
import { engineOrOutage } from './outage-server.ts'
import { endWithReader, print } from './output.ts'
import { logProcess } from './process-log.ts'
import { serverAdapters } from './server-adapters.ts'
import {
  BOOTSTRAP_VARIABLE,
  type Environment,
  LEAST_MEMORY_BYTES,
  networkOf,
  readServerSettings,
  type ServerSettings,
} from './settings.ts'
import { untilSignalled } from './signals.ts'
import { type Addresses, firstStartLines, type OwnerKey, startLines } from './start-message.ts'

const TOO_LITTLE_MEMORY = `the process may use less memory than the minimum of ${LEAST_MEMORY_BYTES} bytes`
const GATEWAY_WITHOUT_PORT = 'the gateway has no port of its own: content is served on that of the API, pages sandboxed'

/** Only the server's user can access the files that the server creates. */
const UMASK = 0o077

export async function serve(given: GivenTo<'serve'>, env: Environment): Promise<void> {
  const read = withConsole(readServerSettings(given.flags, env), given.flags['no-console'])
  const settings = given.flags['as-new'] ? asNewNode(read) : read
  if (given.flags['check-config']) {
    endWithReader()
    print(JSON.stringify(await usedSettings(settings), null, 2))
    return
  }
  checkDescriptors()
  process.umask(UMASK)
  const lines = new LogLines(process.stdout.fd)
  const logger = pino({ level: settings.logLevel }, lines)
  const endLog = logProcess(logger, lines)
  if (settings.memoryBytes < LEAST_MEMORY_BYTES) logger.warn({ bytes: settings.memoryBytes }, TOO_LITTLE_MEMORY)
  const stopped = untilSignalled()
  const { dataDir, config, threadPoolSize, memoryBytes } = settings
  const pool = threadPoolSize === undefined ? {} : { threadPoolSize }
  const network = networkOf(config)
  const metrics = new PrometheusMetrics()
  if (config.tracing === true) metrics.finished = await openTelemetry()
  const options = { ...config, ...pool, memoryBytes, network, dataDir, logger, metrics, environment: env }
  const engine = await engineOrOutage({ ...options, ...serverAdapters }, settings, stopped)
  if (engine === null) return endLog()
  // Half of the descriptors are reserved for everything else. The API and the gateway share the other half.
  const maxConnections = connectionsOfEach(2, memoryBytes)
  const pages = config.console === true ? { console: createConsole(engine, { ...publicUrlOf(config), logger }) } : {}
  const server = createServer(engine, { metrics, maxConnections, ...settings.metricsReaders, ...pages })
  let readers: Readers | null = null
  try {
    // Adopts the key before the server listens, so that a server with an invalid key never appears healthy.
    const bootstrapped = await bootstrap(engine, settings.bootstrapKey)
    await loadHandlers(engine.api, engine.gateway, engine.ownGateway)
    // Opens the gateway before the API, because the start must fail if a required gateway port is taken.
    const gateway = await openGateway(engine, settings, metrics, logger)
    readers = gateway.readers
    const addresses = await listenAt(server, engine, settings, readers)
    // Logs the missing gateway port after the API listens. If the API's port is taken too, the start reports only that.
    if (gateway.lacking !== null) logger.warn(gateway.lacking, GATEWAY_WITHOUT_PORT)
    const endWatch = watchLoop(logger, metrics)
    const endMetrics = await listenForMetrics(engine, metrics, settings.metricsAddress)
    const ownerKey = bootstrapped ?? (await firstKey(engine, settings, addresses))
    print([...startLines(addresses), ...(ownerKey === null ? [] : firstStartLines(addresses, ownerKey))].join('\n'))
    writeCompiled()
    logger.info({ signal: await stopped }, 'stopping')
    // Another signal ends the process at once.
    await stopGracefully(engine, { server, readers, drainMs: settings.drainSeconds * 1_000 })
    endMetrics()
    await endWatch()
  } finally {
    server.close().closeAllConnections()
    await readers?.stop(0)
    await engine.stop()
    endLog()
  }
}

function withConsole(settings: ServerSettings, isUnwanted: boolean): ServerSettings {
  const { config } = settings
  return { ...settings, config: { ...config, console: !isUnwanted && config.console !== false } }
}

function asNewNode(settings: ServerSettings): ServerSettings {
  const { node } = settings.config
  if (node === undefined) throw usageError('--as-new: the configuration has no "node", so this is no node of a fleet')
  return { ...settings, config: { ...settings.config, node: { ...node, asNew: true } } }
}

function publicUrlOf({ publicUrl }: EngineConfig): { publicUrl?: string } {
  return publicUrl === undefined ? {} : { publicUrl }
}

async function usedSettings({ config, bootstrapKey, metricsReaders, ...settings }: ServerSettings): Promise<object> {
  const { isGatewayPortGiven: _, ...shown } = settings
  const { metricsToken, metricsFor } = metricsReaders
  return {
    ...shown,
    metricsFor,
    metricsToken: metricsToken === undefined ? 'not set' : 'set',
    bootstrapKey: bootstrapKey === undefined ? 'not set' : 'set',
    config: await checkConfig({ ...config, network: networkOf(config) }, 'config', serverAdapters.adapters),
  }
}

/** Makes the secret from the environment an API key of the owner. Returns null except at the very first start. */
async function bootstrap(engine: Engine, secret: string | undefined): Promise<OwnerKey | null> {
  if (secret === undefined) return null
  const { account, created } = await engine.accounts.ensureOwner()
  try {
    await engine.keys.adopt(account.id, 'bootstrap', secret)
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    throw new HoldfastError('CONFIG_INVALID', `${BOOTSTRAP_VARIABLE}: ${error.message}`, { cause: error })
  }
  return created ? { variable: BOOTSTRAP_VARIABLE } : null
}

/**
 * Creates the owner, an API key and a password link at the very first start. Runs after the server listens, because a
 * failed start would lose the key and the link, which are shown only once.
 */
async function firstKey(
  engine: Engine,
  { bootstrapKey }: ServerSettings,
  { console }: Addresses,
): Promise<OwnerKey | null> {
  if (bootstrapKey !== undefined) return null
  const { account, created } = await engine.accounts.ensureOwner()
  if (!created) return null
  const { secret } = await engine.keys.create(account.id, { name: 'owner', scopes: SCOPES })
  if (console === null) return { secret, passwordLink: null }
  const { token } = await engine.accounts.makePasswordLink(account.id)
  return { secret, passwordLink: passwordLinkUrl(console, token) }
}

async function listenAt(
  server: ReturnType<typeof createServer>,
  engine: Engine,
  { host, port, config }: ServerSettings,
  readers: Readers | null,
): Promise<Addresses> {
  const bound = await listen(server, host, port)
  const local = localUrl(host, bound)
  const localGateway = readers === null ? local : localUrl(host, readers.port)
  if (config.publicUrl === undefined) await engine.setPublicUrl(local, localGateway)
  if (readers !== null) await engine.setGatewayPort(readers.port)
  return {
    listening: `http://${urlHost(host)}:${bound}`,
    local,
    public: config.publicUrl ?? local,
    localGateway,
    gateway: config.gateway?.publicUrl ?? config.publicUrl ?? localGateway,
    console: config.console === true ? consoleUrl(config.publicUrl, local) : null,
    importRoots: engine.importRoots,
    peerAddresses: await engine.addresses(),
  }
}

/** Opens the gateway. If its default port is taken, returns `readers` as null, and the reason as `lacking`. */
async function openGateway(
  engine: Engine,
  { host, gatewayPort, isGatewayPortGiven, gatewayThreads, memoryBytes }: ServerSettings,
  metrics: PrometheusMetrics,
  logger: Logger,
): Promise<{ readers: Readers | null; lacking: object | null }> {
  if (gatewayPort === null) return { readers: null, lacking: { reason: 'there is no port behind that of the API' } }
  const threads = gatewayThreads === undefined ? {} : { threads: gatewayThreads }
  try {
    return {
      readers: await startReaders(engine, { host, port: gatewayPort, metrics, logger, memoryBytes, ...threads }),
      lacking: null,
    }
  } catch (err) {
    if (isGatewayPortGiven) {
      const { cause } = err as Error
      throw cause instanceof Error ? cannotListen(`${host}:${gatewayPort}`, '--gateway-port', cause) : err
    }
    return { readers: null, lacking: { err } }
  }
}
