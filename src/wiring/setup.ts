import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import type { SignInAdapter } from '../access/sign-in/identity-provider.ts'
import type { EngineOptions } from '../api.ts'
import { type CatalogueDatabase, catalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { withoutOutages } from '../catalogue/outages.ts'
import { Activity } from '../concurrency/activity.ts'
import { type CompleteConfig, parseConfig, withDefaults } from '../config/config.ts'
import { configSchema } from '../config/config-schema.ts'
import type { EngineConfig } from '../config/engine-options.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { type ClusterDefinition, knownClusters } from '../domain/cluster.ts'
import { uncheckable } from '../domain/cluster-check.ts'
import { Emitter } from '../domain/emitter.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { FileSystem } from '../domain/file-system.ts'
import { type Logger, silentLogger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import { unknownKeys } from '../domain/near-names.ts'
import { ReadinessProbes } from '../http/readiness-probes.ts'
import type { EngineEvents } from '../pins/pin-types.ts'
import { History } from '../upkeep/history.ts'
import { RecentFailures } from '../upkeep/recent-failures.ts'
import { checkOwnOptions } from './own-options.ts'

/** Names of the options that are not part of the configuration. */
const OWN_OPTIONS: Readonly<Record<Exclude<keyof EngineOptions, keyof EngineConfig>, true>> = {
  dataDir: true,
  logger: true,
  metrics: true,
  clock: true,
  environment: true,
  adapters: true,
  catalogue: true,
  backends: true,
  fileSystem: true,
  threadPoolSize: true,
  memoryBytes: true,
  singleUser: true,
  signIn: true,
}
const OPTIONS = [...Object.keys(OWN_OPTIONS), ...Object.keys(configSchema.properties)]

export interface Setup {
  /** Absolute path. */
  dataDir: string
  config: CompleteConfig
  clusters: readonly ClusterDefinition[]
  /** Clusters that this node keeps. */
  ownClusters: readonly ClusterDefinition[]
  clock: Clock
  logger: Logger
  metrics: Metrics
  history: History
  failures: RecentFailures
  events: Emitter<EngineEvents>
  activity: Activity
  /** Verifications, backups and reconciliations that a caller has started. `announceStop` ends them. */
  longRuns: Activity
  /** `isAnnounced` becomes true when `announceStop` is called. */
  ending: { isAnnounced: boolean }
  probes: ReadinessProbes
  /** Replaces `node:fs` for access to block files. */
  fileSystem: FileSystem | undefined
  threadPoolSize: number | undefined
  memoryBytes: number
  /** True if calls that do not name an account use the owner's account. */
  isSingleUser: boolean
  environment: NonNullable<EngineOptions['environment']>
  adapters: NonNullable<EngineOptions['adapters']>
  signIn: SignInAdapter | undefined
  /** Null if the catalogue is in SQLite. */
  catalogueDatabase: CatalogueDatabase | null
  backends: NonNullable<EngineOptions['backends']>
}

/** @throws HoldfastError `CONFIG_INVALID`, which names the option */
export function setupOf(options: EngineOptions): Setup {
  const { dataDir, logger = silentLogger, metrics = null, clock = systemClock, ...rest } = options ?? {}
  const {
    fileSystem,
    threadPoolSize,
    memoryBytes = totalmem(),
    singleUser = false,
    signIn,
    environment = {},
    adapters = [],
    catalogue,
    backends = {},
    ...given
  } = rest
  const unknown = Object.keys(given).filter(name => !OPTIONS.includes(name))
  if (unknown.length > 0) throw new HoldfastError('CONFIG_INVALID', `options: ${unknownKeys(unknown, OPTIONS)}`)
  if (typeof dataDir !== 'string' || dataDir === '') {
    throw new HoldfastError('CONFIG_INVALID', 'options: dataDir must be the path of a directory')
  }
  checkOwnOptions(options)
  const config = withDefaults(parseConfig(given, 'options', adapters))
  if (config.reconcile.everyHours === 0 && Object.keys(backends).length > 0) {
    throw new HoldfastError('CONFIG_INVALID', `options: backends: ${uncheckable(0, undefined)}`)
  }
  if (config.gateway.mode === 'open' && config.network?.enabled !== true) {
    throw new HoldfastError('CONFIG_INVALID', 'gateway.mode: open needs the network')
  }
  const clusters = config.clusters ?? knownClusters
  const history = new History(clock, metrics)
  const failures = new RecentFailures(clock)
  return {
    dataDir: resolve(dataDir),
    config,
    clusters,
    ownClusters: clusters.filter(({ node }) => node === config.node?.id),
    clock,
    logger: withoutOutages(failures.noting(logger)),
    metrics: history,
    history,
    failures,
    events: new Emitter<EngineEvents>(failures.noting(logger)),
    activity: new Activity(),
    longRuns: new Activity(),
    ending: { isAnnounced: false },
    probes: new ReadinessProbes(clock),
    fileSystem,
    threadPoolSize,
    memoryBytes,
    isSingleUser: singleUser,
    environment,
    signIn,
    adapters,
    catalogueDatabase: catalogueDatabase(config.database, catalogue),
    backends,
  }
}
