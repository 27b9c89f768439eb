import { randomBytes } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import type { AccountService } from '../access/account-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { Completed, Completion, PinStore } from '../catalogue/sqlite/pin-store.ts'
import type { RecordRow } from '../catalogue/sqlite/record-table.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { StagedDag } from '../content/staged-dag.ts'
import { identityOf } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import type { Emitter } from '../domain/emitter.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type StoredNames, storedNames } from './pin-names.ts'
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
  readonly #leaveFetch: (fetchId: number) => Promise<void>

  constructor(parts: {
    accounts: AccountService
    plans: PlanCatalogue
    clusters: ClusterRegistry
    timelock: Timelock
    store: PinStore
    queue: WriteQueue
    clock: Clock
    events: Emitter<EngineEvents>
    /** Called when a record no longer waits for a fetch. */
    leaveFetch: (fetchId: number) => Promise<void>
  }) {
    this.#accounts = parts.accounts
    this.#plans = parts.plans
    this.#clusters = parts.clusters
    this.#timelock = parts.timelock
    this.#store = parts.store
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#events = parts.events
    this.#leaveFetch = parts.leaveFetch
  }

  async requester(accountId: string): Promise<Requester> {
    const account = await this.#accounts.get(accountId)
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
    const [outcome] = await this.commitAll([input])
    if (outcome === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a pin was committed without outcome')
    return outcome
  }

  /**
   * Makes each content a pin, or, on failure, none of them. Throws what {@link commit} throws.
   *
   * @param alongside done in the same transaction; what it throws undoes everything
   */
  async commitAll(inputs: readonly CommitInput[], alongside: () => void = () => undefined): Promise<PinOutcome[]> {
    const made = await this.#complete(inputs, alongside)
    return Promise.all(made.map(completed => this.#tell(completed)))
  }

  async #complete(inputs: readonly CommitInput[], alongside: () => void): Promise<Completed[]> {
    const all = inputs.map(input => ({ input, staged: input.staged }))
    try {
      const completions: Completion[] = []
      for (const one of all) {
        const names = storedNames(one.input.names)
        await one.staged?.settle()
        const home = this.#clusters.backendOf(one.input.target.clusterId)
        if (home !== one.input.backend) one.staged = await handOver(one.input, one.staged, home)
        completions.push(this.#completionOf(one.input, names, one.staged, home.id))
      }
      const write = (): Completed[] => {
        alongside()
        return completions.map(completion => this.#store.complete(completion))
      }
      return await this.#queue.run(write, { durable: true })
    } catch (error) {
      for (const { staged } of all) await staged?.abandon()
      throw error
    }
  }

  #completionOf(input: CommitInput, names: StoredNames, staged: StagedDag | null, backendId: number): Completion {
    const { requester, target, type, cid, contentSize, dagSize, fileCount } = input
    const now = this.#clock.now()
    const dag = identityOf(cid)
    return {
      backendId,
      stagedRootId: staged?.rootId ?? null,
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
  }

  async #tell({ record: row, created, waited }: Completed): Promise<PinOutcome> {
    const record = presentRecord(row)
    if (created) this.#events.emit('pin:created', { record })
    if (waited !== null) {
      let from = waited.status
      if (from === 'failed') {
        this.#events.emit('pin:status', { record: { ...presentRecord(waited), status: 'queued' }, from, reason: null })
        from = 'queued'
      }
      this.#events.emit('pin:status', { record, from, reason: null })
      if (waited.fetchId !== null) await this.#leaveFetch(waited.fetchId)
    }
    return { record, created }
  }
}

/** Has the backend of the content's cluster take it over. */
async function handOver(input: CommitInput, staged: StagedDag | null, home: ClusterBackend): Promise<StagedDag> {
  const copy = await home.pin(input.cid, input.backend, { signal: input.signal })
  try {
    if (staged !== null) await copy.takeFilesOf(staged)
    await staged?.abandon()
    return copy
  } catch (error) {
    await copy.abandon()
    throw error
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
