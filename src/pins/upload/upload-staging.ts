import type { KeyStore } from '../../catalogue/key-store.ts'
import type { Records } from '../../catalogue/records.ts'
import type { ClusterRegistry } from '../../clusters/cluster-registry.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { Possessor } from '../../ledger/possessor.ts'
import type { DecidedTarget, Requester } from '../decided-pin.ts'
import type { DeletionStop } from '../deletion-stop.ts'
import type { PinTargets } from '../pin-targets.ts'
import type { HandOver, UploadOptions } from '../pin-types.ts'
import { type StorageReservation, StorageReservations, UploadBudget } from './upload-budget.ts'
import { fixed, narrowed, UploadTokenUses } from './upload-token.ts'

/** While a CAR is read, no file size limit applies, because its files are known only at the end. */
export type UploadKind = 'file' | 'directory' | 'car'

export interface StagedUpload {
  /**
   * Staged on the default backend. The target cluster may still be unknown, because a form may name it after the file.
   */
  staged: StagedDag
  budget: UploadBudget
  requester: Requester
  /**
   * Releases the quota reservation and the reserved use of the upload token. Call this right before the commit, which
   * checks quota and token itself. Otherwise the upload counts twice until the commit has synced to disk.
   */
  giveBack(): void
}

/**
 * Target of an upload. `node` is the id of the other node that keeps the cluster, or null if this node keeps the
 * cluster.
 */
export type Decided = { settings: UploadOptions; target: DecidedTarget } & ({ node: null } | OnOtherNode)

interface OnOtherNode {
  node: string
}

/** Steps that all uploads share: early refusals, a staged DAG, and quota reservations across parallel uploads. */
export class UploadStaging {
  readonly #clusters: ClusterRegistry
  readonly #targets: PinTargets
  readonly #records: Records
  readonly #clock: Clock
  readonly #deletion: DeletionStop
  readonly #uses: UploadTokenUses
  readonly #reservations = new StorageReservations()
  readonly #receiverOf: (clusterId: string) => Promise<string | null>

  constructor(
    clusters: ClusterRegistry,
    targets: PinTargets,
    records: Records,
    keys: Pick<KeyStore, 'uses'>,
    clock: Clock,
    deletion: DeletionStop,
    receiverOf = async (clusterId: string): Promise<string | null> => clusters.nodeOf(clusterId),
  ) {
    this.#receiverOf = receiverOf
    this.#uses = new UploadTokenUses(keys)
    this.#clusters = clusters
    this.#targets = targets
    this.#records = records
    this.#clock = clock
    this.#deletion = deletion
  }

  /** Stages and commits an upload. If it fails, nothing is stored. */
  async run<T>(options: UploadOptions, kind: UploadKind, upload: (upload: StagedUpload) => Promise<T>): Promise<T> {
    const { token } = options
    const requester = narrowed(await this.#targets.requester(options.account), token)
    const { possessor } = this.#targets.decide(requester, fixed(options, token))
    const by = () => new Possessor(possessor, this.#clock)
    const giveBackUse = token === undefined ? () => undefined : await this.#uses.reserve(token)
    try {
      return await this.#run({ requester, by }, options, kind, parts =>
        upload({
          ...parts,
          giveBack: () => {
            parts.budget.giveBack()
            giveBackUse()
          },
        }),
      )
    } finally {
      giveBackUse()
    }
  }

  async #run<T>(
    { requester, by }: { requester: Requester; by: () => Possessor },
    options: UploadOptions,
    kind: UploadKind,
    upload: (upload: Omit<StagedUpload, 'giveBack'>) => Promise<T>,
  ): Promise<T> {
    const reservation = this.#reservations.begin(requester.account.id)
    let staged: StagedDag | null = null
    try {
      const budget = await this.#budgetOf(requester, kind, reservation)
      budget.expect(options.expectedBytes)
      const late = kind === 'file' && this.#records.takesBlocks === true
      staged = await this.#clusters.defaultBackend.staging.stage({ late, by })
      return await upload({ staged, budget, requester })
    } catch (error) {
      if (staged !== null) {
        await staged.abandon()
        this.dropped(requester, staged)
      }
      if (options.signal?.aborted === true && !isHoldfastError(error, 'OUTCOME_UNKNOWN')) {
        throw new HoldfastError('ABORTED', 'the upload was aborted', { cause: error })
      }
      throw error
    } finally {
      reservation.end(staged?.newCharge ?? 0)
    }
  }

  async #budgetOf(
    { account, plan }: Requester,
    kind: UploadKind,
    reservation: StorageReservation,
  ): Promise<UploadBudget> {
    // Without a limit, nothing asks for the usage.
    const isLimited = plan.maxStorageBytes !== null
    const storedBytes = isLimited ? (await this.#records.usage(account.id, this.#clock.now())).storedBytes : 0
    const limits = await this.#deletion.lowered(account.id, plan)
    return new UploadBudget({
      plan: kind === 'car' ? { ...limits, maxFileBytes: null } : limits,
      storedBytes,
      reservation,
      isDirectory: kind !== 'file',
      isHeld: () => this.#deletion.isHeld,
    })
  }

  /** Notes blocks that no record needs, in the quota of the account while deletion is stopped. */
  dropped({ account }: Requester, staged: StagedDag, usedBytes = 0): void {
    this.#deletion.dropped(account.id, staged.newCharge - usedBytes)
  }

  /**
   * Decides the cluster, expiry and node of an upload, after its content has been read. If this node may receive the
   * cluster, it keeps the upload, because the first node of the cluster may be starting and refuse it.
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`; the error of `late`
   */
  async decide(requester: Requester, options: UploadOptions): Promise<Decided> {
    const late = options.late === undefined ? undefined : await orAborted(options.late(), options.signal)
    const settings = fixed({ ...options, ...definedOnly(late) }, options.token)
    const target = this.#targets.decide(requester, settings)
    const { clusterId } = target
    const node = this.#clusters.mayReceive(clusterId) ? null : await this.#receiverOf(clusterId)
    return node === null ? { settings, target, node } : { settings, target, node }
  }

  /**
   * @throws HoldfastError `VALIDATION` without `handOver`; `OUTCOME_UNKNOWN` if aborted after all content was sent; the
   * error of `handOver`
   */
  async handOver<Piece, T>(
    { staged, requester, giveBack }: StagedUpload,
    { node, settings }: Decided & OnOtherNode,
    read: (signal: AbortSignal) => AsyncIterable<Piece>,
    handOver: HandOver<Piece, T> | undefined,
  ): Promise<T> {
    if (handOver === undefined) throw new HoldfastError('VALIDATION', `cl names a cluster that the node ${node} keeps`)
    const { signal = AbortSignal.any([]) } = settings
    signal.throwIfAborted()
    await staged.begin()
    await staged.settle()
    let isSent = false
    const end = (): void => {
      isSent = true
      giveBack()
    }
    try {
      const outcome = await handOver({ node, content: followedBy(read(signal), end), signal })
      this.dropped(requester, staged)
      await staged.abandon()
      return outcome
    } catch (error) {
      if (!isSent || !signal.aborted) throw error
      const message = `the upload was aborted after the node ${node} had received all of it: it may be stored`
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause: error })
    }
  }
}

/**
 * Calls `end` after the last item, before the source ends. The other node cannot commit yet, and quota released in
 * `end` never counts the bytes twice.
 */
async function* followedBy<T>(source: AsyncIterable<T>, end: () => void): AsyncGenerator<T, void, undefined> {
  yield* source
  end()
}

/** Drops undefined values. A field that the form lacks must not override an option. */
function definedOnly<T extends object>(values: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}
