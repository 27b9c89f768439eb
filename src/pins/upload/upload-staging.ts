import type { KeyStore } from '../../catalogue/key-store.ts'
import type { Records } from '../../catalogue/records.ts'
import type { ClusterRegistry } from '../../clusters/cluster-registry.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import type { PinTargets } from '../pin-targets.ts'
import type { DecidedTarget, HandOver, Requester, UploadOptions } from '../pin-types.ts'
import { StorageReservations, UploadBudget } from './upload-budget.ts'
import { fixed, narrowed, UploadTokenUses } from './upload-token.ts'

/** What is sent; the sizes of the files in a CAR are known only once it is whole. */
export type UploadKind = 'file' | 'directory' | 'car'

/** An upload under way. */
export interface StagedUpload {
  /** On the default backend, as the cluster may be known last. */
  staged: StagedDag
  budget: UploadBudget
  requester: Requester
  /**
   * Gives back what is kept for it of the quota and the upload token. Called right before the commit, which decides by
   * itself: what is committed and also kept would be counted twice while the disk is synced.
   */
  giveBack(): void
}

/** What is to become of an upload; with the id of the node that keeps its cluster, if that is another one. */
export type Decided = { settings: UploadOptions; target: DecidedTarget } & ({ node: null } | Elsewhere)

interface Elsewhere {
  node: string
}

/** What every upload has around it: early refusals, a staged DAG, and a budget that uploads side by side share. */
export class UploadStaging {
  readonly #clusters: ClusterRegistry
  readonly #targets: PinTargets
  readonly #records: Records
  readonly #clock: Clock
  readonly #uses: UploadTokenUses
  readonly #reservations = new StorageReservations()

  constructor(
    clusters: ClusterRegistry,
    targets: PinTargets,
    records: Records,
    keys: Pick<KeyStore, 'uses'>,
    clock: Clock,
  ) {
    this.#uses = new UploadTokenUses(keys)
    this.#clusters = clusters
    this.#targets = targets
    this.#records = records
    this.#clock = clock
  }

  /** Runs an upload on a fresh staged DAG; whatever goes wrong, nothing of it stays. */
  async run<T>(options: UploadOptions, kind: UploadKind, upload: (upload: StagedUpload) => Promise<T>): Promise<T> {
    const { token } = options
    const requester = narrowed(await this.#targets.requester(options.account), token)
    this.#targets.decide(requester, fixed(options, token))
    const giveBackUse = token === undefined ? () => undefined : await this.#uses.reserve(token)
    try {
      return await this.#run(requester, options, kind, parts =>
        upload({
          ...parts,
          giveBack: () => {
            parts.budget.release()
            giveBackUse()
          },
        }),
      )
    } finally {
      giveBackUse()
    }
  }

  async #run<T>(
    requester: Requester,
    options: UploadOptions,
    kind: UploadKind,
    upload: (upload: Omit<StagedUpload, 'giveBack'>) => Promise<T>,
  ): Promise<T> {
    const accountId = requester.account.id
    const { storedBytes } = await this.#records.usage(accountId, this.#clock.now())
    const plan = kind === 'car' ? { ...requester.plan, maxFileBytes: null } : requester.plan
    const reservations = this.#reservations
    const budget = new UploadBudget({ plan, accountId, storedBytes, reservations, isDirectory: kind !== 'file' })
    budget.expect(options.expectedBytes)
    const late = kind === 'file' && this.#records.takesBlocks === true
    const staged = await this.#clusters.defaultBackend.staging.stage({ late })
    try {
      return await upload({ staged, budget, requester })
    } catch (error) {
      await staged.abandon()
      if (options.signal?.aborted === true && !isHoldfastError(error, 'OUTCOME_UNKNOWN')) {
        throw new HoldfastError('ABORTED', 'the upload was aborted', { cause: error })
      }
      throw error
    } finally {
      budget.release()
    }
  }

  /**
   * Decides where the content goes, once it has been read to its end.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`; what `late` throws.
   */
  async decide(requester: Requester, options: UploadOptions): Promise<Decided> {
    const late = options.late === undefined ? undefined : await orAborted(options.late(), options.signal)
    const settings = fixed({ ...options, ...definedOnly(late) }, options.token)
    const target = this.#targets.decide(requester, settings)
    const node = this.#clusters.nodeOf(target.clusterId)
    return node === null ? { settings, target, node } : { settings, target, node }
  }

  /**
   * Has an upload handed over to the node that keeps its cluster.
   *
   * @param read what was sent, from what was staged of it
   * @throws HoldfastError `VALIDATION` where nobody hands it over; `OUTCOME_UNKNOWN` if it is ended once all has been
   * sent; what `handOver` throws
   */
  async handOver<Piece, T>(
    { staged, giveBack }: StagedUpload,
    { node, settings }: Decided & Elsewhere,
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
      await staged.abandon()
      return outcome
    } catch (error) {
      if (!isSent || !signal.aborted) throw error
      const message = `nobody waits any more for the node ${node}, which has all of it: it may have done it`
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause: error })
    }
  }
}

/** Before its last byte has gone the other node commits nothing, which would be counted twice from there on. */
async function* followedBy<T>(source: AsyncIterable<T>, end: () => void): AsyncGenerator<T, void, undefined> {
  yield* source
  end()
}

/** What a form did not send must not hide what came with the request. */
function definedOnly<T extends object>(values: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}
