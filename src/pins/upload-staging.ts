import type { KeyStore } from '../catalogue/keys.ts'
import type { Records } from '../catalogue/records.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { HoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'
import type { PinTargets } from './pin-targets.ts'
import type { DecidedTarget, Requester, UploadOptions } from './types.ts'
import { StorageReservations, UploadBudget } from './upload-budget.ts'
import { fixed, narrowed, UploadTokenUses } from './upload-token.ts'

/** What is sent; the sizes of the files in a CAR are known only once it is whole. */
export type UploadKind = 'file' | 'directory' | 'car'

/** An upload under way. */
export interface Upload {
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

/** What every upload has around it: early refusals, a staged DAG, and a budget that uploads side by side share. */
export class UploadStaging {
  readonly #clusters: ClusterRegistry
  readonly #targets: PinTargets
  readonly #records: Records
  readonly #now: () => number
  readonly #uses: UploadTokenUses
  readonly #reservations = new StorageReservations()

  constructor(
    clusters: ClusterRegistry,
    targets: PinTargets,
    records: Records,
    keys: Pick<KeyStore, 'uses'>,
    now: () => number,
  ) {
    this.#uses = new UploadTokenUses(keys)
    this.#clusters = clusters
    this.#targets = targets
    this.#records = records
    this.#now = now
  }

  /** Runs an upload on a fresh staged DAG; whatever goes wrong, nothing of it stays. */
  async run<T>(options: UploadOptions, kind: UploadKind, upload: (upload: Upload) => Promise<T>): Promise<T> {
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
    upload: (upload: Omit<Upload, 'giveBack'>) => Promise<T>,
  ): Promise<T> {
    const accountId = requester.account.id
    const { storedBytes } = await this.#records.usage(accountId, this.#now())
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
      if (options.signal?.aborted === true) {
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
   * @throws HoldfastError `VALIDATION` for a cluster of another node; `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`; what `late` throws.
   */
  async decide(
    requester: Requester,
    options: UploadOptions,
  ): Promise<{ settings: UploadOptions; target: DecidedTarget }> {
    const late = options.late === undefined ? undefined : await orAborted(options.late(), options.signal)
    const settings = fixed({ ...options, ...definedOnly(late) }, options.token)
    const target = this.#targets.decide(requester, settings)
    const node = this.#clusters.nodeOf(target.clusterId)
    if (node === null) return { settings, target }
    const remedy = 'name it in X-Cluster, in the query, or in the first 64 KiB'
    throw new HoldfastError('VALIDATION', `cl: the node ${node} keeps the cluster ${target.clusterId}: ${remedy}`)
  }
}

/** What a form did not send must not hide what came with the request. */
function definedOnly<T extends object>(values: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}
