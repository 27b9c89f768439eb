import { FIND } from '../catalogue/rules/fetch-rows.ts'
import { MemoryBudget } from '../concurrency/capacity/memory-budget.ts'
import { PortCalls } from '../concurrency/port-calls.ts'
import { BlockFiles } from '../content/block-files.ts'
import type { BlockSource } from '../content/block-source.ts'
import { SharedLeases } from '../content/leases.ts'
import { LiveContent } from '../content/live-content.ts'
import { followRevisions, KnownRevision } from '../content/revision-log.ts'
import { StoredBlocks } from '../content/stored-blocks.ts'
import { pagedFileSystem } from '../disk/node-file-system.ts'
import { systemClock as clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type Logger, silentLogger } from '../domain/logger.ts'
import { silentMetrics } from '../domain/metrics.ts'
import { withFeatures } from '../features/gateway-list.ts'
import { createGateway, gatewaySlots, openerOf } from '../gateway/gateway.ts'
import { EgressCap, type Payer } from '../gateway/policy/egress-cap.ts'
import { EgressTally, REPORT_MS } from '../gateway/policy/egress-tally.ts'
import { SharedTakedowns } from '../gateway/policy/shared-takedowns.ts'
import { type GatewayStatus, withReadiness } from '../gateway/site/readiness.ts'
import { AskedContent } from '../gateway/source/asked-content.ts'
import type { ArrivalOf } from '../gateway/source/root-opener.ts'
import type { ReadingData, SharedReading } from '../gateway/source/shared-reading.ts'
import { errorResponse } from '../http/error-response.ts'
import { behindProxies } from '../http/proxies.ts'
import { type DagIdentity, identityOf } from '../ipld/cid.ts'
import { BlockTable } from '../ledger/block-table.ts'
import { HeldRoots } from '../ledger/held-roots.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import { RootTable } from '../ledger/root-table.ts'
import type { Database } from '../storage/database.ts'
import { databaseOf, type Reading, type ReadingMeans } from './open-reading.ts'

/** Maximum number of concurrent calls from one thread to the engine, by kind of call. */
const MAX_CALLS = {
  read: 32,
  arrival: 8,
  payers: 64,
  'network open': 64,
  'network get': 64,
  'nodes open': 64,
  'nodes get': 64,
}

/**
 * Does the work of `openReading`. A thread of the server loads this file at once.
 * @param database is closed with the gateway
 */
export function readingIn(
  reading: Pick<SharedReading, 'data' | 'port'>,
  { logger = silentLogger, metrics = silentMetrics }: ReadingMeans = {},
  database: Database = databaseOf(reading),
): Reading {
  const { port } = reading
  const data = reading.data as ReadingData
  const calls = new PortCalls(port, MAX_CALLS)
  let isOver = false
  port.on('close', () => {
    isOver = true
  })
  port.unref()
  const egress = new EgressTally(clock, REPORT_MS, async rows => {
    await calls.ask('egress', rows).catch(() => undefined)
  })
  const cap = new EgressCap(
    clock,
    async ({ cid, rootId }) => (await calls.ask('payers', { cid: cid.toString(), rootId })) as Payer[],
    data.memory.holder,
  )
  const options = { ...data.gateway, ownOrigin: true }
  const memory = new MemoryBudget(data.memory, clock)
  const dependencies = {
    content: contentOf(data, database, calls, logger),
    clock,
    logger,
    metrics,
    options,
    takedowns: new SharedTakedowns(data.takedowns.path, data.takedowns.published),
    revision: new KnownRevision(data.revision),
    arrivalOf: arrivalsOf(data, database, calls),
    slots: gatewaySlots(options, clock, memory),
    memory,
    ...(options.mode === 'open' && { network: new AskedContent(calls, 'network') }),
    egress,
    cap: data.hasEgressCap ? cap : null,
    others: data.hasNodes ? new AskedContent(calls, 'nodes') : null,
  }
  const opener = openerOf(dependencies)
  const next = async (confirmed: number) => (await calls.ask('revision', confirmed)) as number
  void followRevisions(next, () => opener.decide())
  const host = options.host ?? null
  const ready = withReadiness(createGateway({ ...dependencies, opener }), readinessBy(calls), host)
  const featured = withFeatures(ready, {
    served: (cid, signal) => opener.served(cid, signal),
    ask: question => calls.ask(question, null),
    slots: dependencies.slots,
    options,
    clock,
    logger,
    metrics,
  })
  const behind = behindProxies(data.trustedProxies, logger)(featured)
  return {
    gateway: async request => {
      if (isOver) return errorResponse(new HoldfastError('UNAVAILABLE', 'the node is stopping'), '')
      return behind(request)
    },
    close: () => {
      isOver = true
      void egress.report()
      port.close()
      database.close()
    },
  }
}

function contentOf(
  { backends, fallbackBackends, leases }: ReadingData,
  database: Database,
  calls: PortCalls,
  logger: Logger,
): LiveContent {
  const blocks = new BlockTable(database)
  const places = new HeldRoots(new RootTable(database), blocks, new Set(fallbackBackends))
  const sourceOf = (id: number, dataDir: string | null): BlockSource => {
    if (dataDir === null) return engineBlocks(id, calls)
    return new StoredBlocks(blocks, {
      backendId: id,
      files: new BlockFiles(dataDir, null, pagedFileSystem),
      onDamaged: (cid, reason) => {
        logger.error({ cid: cid.toString(), reason }, 'a block is damaged: upload the same bytes to repair it')
        void calls.ask('damaged', { cid: cid.toString(), reason }).catch(() => undefined)
      },
    })
  }
  const sources = new Map(backends.map(({ id, dataDir }) => [id, sourceOf(id, dataDir)]))
  return new LiveContent(places, { readerOf: id => sources.get(id) ?? null }, new SharedLeases(leases), clock)
}

/** Returns a function that asks the engine. Calls during a question share its answer. */
function readinessBy(calls: PortCalls): () => Promise<GatewayStatus> {
  let asked: Promise<GatewayStatus> | null = null
  const ask = async (): Promise<GatewayStatus> => (await calls.ask('readiness', null)) as GatewayStatus
  return () => {
    asked ??= ask().finally(() => {
      asked = null
    })
    // The question fails if the engine has ended, and then the thread ends, too.
    return asked.catch(() => 'stopping')
  }
}

function engineBlocks(backend: number, calls: PortCalls): BlockSource {
  return {
    read: async (cid, { signal } = {}) =>
      (await calls.ask('read', { backend, cid: cid.toString() }, signal)) as Uint8Array,
  }
}

/** Asks the engine only about CIDs that are being fetched, if this thread can read the table of fetches. */
function arrivalsOf({ backends, hasFetches }: ReadingData, database: Database, calls: PortCalls): ArrivalOf {
  const find = database.prepare<[Uint8Array, number, number, number]>(FIND.sqlite.text)
  const isFetched = ({ multihash, codec }: DagIdentity): boolean =>
    backends.some(({ id }) => find.get(multihash, codec, id, PUBLIC) !== undefined)
  return async cid => {
    if (hasFetches && !isFetched(identityOf(cid))) return null
    return (await calls.ask('arrival', cid.toString())) as Awaited<ReturnType<ArrivalOf>>
  }
}
