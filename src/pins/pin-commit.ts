import { randomBytes } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import type { AccountService } from '../access/account-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { StagedDag } from '../content/staged-dag.ts'
import { identityOf } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import type { Emitter } from '../domain/emitter.ts'
import type { PinStore } from '../storage/pin-store.ts'
import type { RecordRow } from '../storage/record-table.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { storedNames } from './pin-names.ts'
import type { Timelock } from './timelock.ts'
import type {
  DecidedTarget,
  EngineEvents,
  PinNames,
  PinOutcome,
  PinRecord,
  PinTarget,
  PinType,
  Requester,
} from './types.ts'

/** Content that is whole, and the record to write for it. */
export interface CommitInput {
  requester: Requester
  target: DecidedTarget
  names: PinNames
  type: PinType
  /** As it will be echoed. */
  cidText: string
  cid: CID
  /** Where the content is whole: staged, or on a backend below a complete root. */
  staged: StagedDag | null
  backend: ClusterBackend
  contentSize: number
  dagSize: number
  fileCount: number
  signal?: AbortSignal | undefined
}

/** The last step of every upload and pin: decide the target, then one short transaction for root and record. */
export class PinCommit {
  readonly #accounts: AccountService
  readonly #plans: PlanCatalogue
  readonly #clusters: ClusterRegistry
  readonly #timelock: Timelock
  readonly #store: PinStore
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #events: Emitter<EngineEvents>

  constructor(parts: {
    accounts: AccountService
    plans: PlanCatalogue
    clusters: ClusterRegistry
    timelock: Timelock
    store: PinStore
    queue: WriteQueue
    clock: Clock
    events: Emitter<EngineEvents>
  }) {
    this.#accounts = parts.accounts
    this.#plans = parts.plans
    this.#clusters = parts.clusters
    this.#timelock = parts.timelock
    this.#store = parts.store
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#events = parts.events
  }

  requester(accountId: string): Requester {
    const account = this.#accounts.get(accountId)
    return { account, plan: this.#plans.get(account.plan) }
  }

  /** @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED` */
  decide({ account, plan }: Requester, target: PinTarget): DecidedTarget {
    const clusterId = this.#clusters.choose(plan, target.cluster?.trim(), account.defaultCluster)
    return { clusterId, expiresAt: this.#timelock.decide(target.timelock, plan, this.#clock.now()) }
  }

  /**
   * Makes the content a pin. On failure a staged DAG is abandoned.
   *
   * @throws HoldfastError `QUOTA_EXCEEDED`, `VALIDATION` for a name, and what handing over to another backend throws.
   */
  async commit(input: CommitInput): Promise<PinOutcome> {
    const { requester, target, type, cid, backend, contentSize, dagSize, fileCount } = input
    let staged = input.staged
    try {
      const names = storedNames(input.names)
      await staged?.settle()
      const home = this.#clusters.backendOf(target.clusterId)
      if (home !== backend) {
        const copy = await home.pin(cid, backend, { signal: input.signal })
        const original = staged
        staged = copy
        if (original !== null) await copy.takeFilesOf(original)
        await original?.abandon()
      }
      const now = this.#clock.now()
      const stagedRootId = staged?.rootId ?? null
      const dag = identityOf(cid)
      const completion = {
        backendId: home.id,
        stagedRootId,
        dag: { ...dag, contentSize, dagSize, fileCount },
        record: {
          ...{ id: newUploadId(now), accountId: requester.account.id, clusterId: target.clusterId },
          ...{ cid: input.cidText, ...dag, type, ...names },
          ...{ status: 'pinned' as const, statusAt: now, statusReason: null },
          ...{ size: contentSize, expiresAt: target.expiresAt, createdAt: now },
        },
        limits: requester.plan,
        now,
      }
      const { record: row, created } = await this.#queue.run(() => this.#store.complete(completion), { durable: true })
      const record = presentRecord(row)
      if (created) this.#events.emit('pin:created', { record })
      return { record, created }
    } catch (error) {
      await staged?.abandon()
      throw error
    }
  }
}

/** Sorts by time, is URL-safe, and cannot be guessed. */
export function newUploadId(now: number): string {
  return `${now.toString(36).padStart(9, '0')}${randomBytes(9).toString('base64url')}`
}

export function presentRecord(row: RecordRow): PinRecord {
  const { id, accountId, clusterId, cid, type, status, name, originalName, customName } = row
  const { size, dagSize, expiresAt, createdAt } = row
  return {
    ...{ uploadId: id, accountId, clusterId, cid, type, status, name, originalName, customName },
    ...{ size, dagSize, expiresAt, createdAt },
  }
}
