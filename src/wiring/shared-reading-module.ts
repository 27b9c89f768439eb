import { join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { MOST_HOLDERS } from '../concurrency/capacity/memory-budget.ts'
import { answerCalls } from '../concurrency/port-calls.ts'
import type { RevisionFollower } from '../content/revision-log.ts'
import { DATABASE, TAKEDOWNS } from '../disk/file-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { PaidBytes } from '../gateway/policy/egress-tally.ts'
import { answersFrom, ownMemory } from '../gateway/source/asked-content.ts'
import { NetworkContent } from '../gateway/source/network-content.ts'
import type { ReadingData, SharedReading } from '../gateway/source/shared-reading.ts'
import { cidOfText } from '../ipld/cid.ts'
import type { BaseModules } from './base-modules.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { LaterModule } from './later-module.ts'
import type { Setup } from './setup.ts'

export type SharedReadingModule = Awaited<ReturnType<typeof makeSharedReading>>

type Below = BaseModules & { gateway: GatewayModule }

export async function makeSharedReading(
  setup: Setup,
  { gateway, ...base }: BaseModules & { gateway: LaterModule<GatewayModule> },
) {
  const below = { ...base, gateway: await gateway.load() }
  const shares = new Set<() => void>()
  const free = Array.from({ length: MOST_HOLDERS - 1 }, (_, index) => index + 1)
  const share = (): SharedReading => {
    const holder = free.shift()
    if (holder === undefined) {
      throw new HoldfastError('UNAVAILABLE', `reading is shared with ${MOST_HOLDERS - 1} threads already`)
    }
    const { memory, options, egress } = below.gateway
    const leases = below.content.leases.share()
    const channel = new MessageChannel()
    const follower = below.gateway.revisions.follow(holder)
    const close = answer({ port: channel.port1, holder, follower }, setup, below)
    shares.add(close)
    // A closed gateway cannot read any more, so changes must not wait for it.
    channel.port1.on('close', () => follower.end())
    return {
      data: dataOf(setup, below, leases.memory, {
        memory: memory.shareFor(holder),
        gateway: options,
      }),
      port: channel.port2,
      get isAwaited() {
        return follower.isAwaited
      },
      end: () => {
        if (!shares.delete(close)) return
        close()
        follower.end()
        leases.end()
        egress.forget(holder)
        memory.forget(holder)
        free.push(holder)
      },
    }
  }
  return {
    share,
    stop: async (): Promise<void> => {
      for (const close of shares) close()
    },
  }
}

function dataOf(
  { dataDir, config, fileSystem }: Setup,
  { storage, nodes, gateway }: Below,
  leases: SharedArrayBuffer,
  shared: Pick<ReadingData, 'memory' | 'gateway'>,
): ReadingData {
  const isLocal = fileSystem === undefined
  return {
    database: join(dataDir, DATABASE),
    hasFetches: storage.shared === null,
    backends: [
      ...[...storage.blockFiles].map(([id, files]) => {
        return { id, dataDir: isLocal && !files.isCache ? files.dataDir : null }
      }),
      ...[...storage.absent].map(id => ({ id, dataDir: null })),
    ],
    fallbackBackends: [...storage.externalBackends, ...storage.absent],
    takedowns: { path: join(dataDir, TAKEDOWNS), published: gateway.takedowns.list.published },
    revision: gateway.revisions.memory,
    leases,
    ...shared,
    trustedProxies: config.trustedProxies,
    hasEgressCap: gateway.cap !== null,
    hasNodes: nodes.member !== null,
  }
}

const NOTHING = { answers: {}, end: () => undefined }

/** Returns a function that ends the pending calls and closes the port. */
function answer(
  { port, holder, follower }: { port: MessagePort; holder: number; follower: RevisionFollower },
  { config, clock, events }: Setup,
  { clusters, network, gateway, nodes }: Below,
): () => void {
  const { mode, retrievalTimeoutSeconds } = config.gateway
  const fetched =
    mode === 'open' && network.node !== null
      ? answersFrom(new NetworkContent(network.node, clock, retrievalTimeoutSeconds * 1_000), 'network')
      : NOTHING
  const passed = nodes.member === null ? NOTHING : answersFrom(nodes.member.content, 'nodes')
  const close = answerCalls(port, {
    ...fetched.answers,
    ...passed.answers,
    read: async ({ backend, cid }: { backend: number; cid: string }, signal: AbortSignal): Promise<Uint8Array> => {
      const reader = clusters.registry.readerOf(backend)
      if (reader === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
      return ownMemory(await reader.read(cidOfText(cid), { signal }))
    },
    revision: (confirmed: number) => follower.next(confirmed),
    egress: (rows: PaidBytes[]) => gateway.egress.report(holder, rows),
    payers: ({ cid, rootId }: { cid: string; rootId: number }) =>
      gateway.egress.payersOf({ cid: cidOfText(cid), rootId }),
    readiness: gateway.readiness,
    ...gateway.answers,
    arrival: (cid: string) => gateway.arrivalOf(cidOfText(cid)),
    damaged: ({ cid, reason }: { cid: string; reason: string }) => {
      events.emit('block:damaged', { cid: cidOfText(cid), reason })
    },
  })
  // An open port must not keep the process alive.
  port.unref()
  return () => {
    close()
    fetched.end()
    passed.end()
  }
}
