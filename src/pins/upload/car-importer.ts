import type { CID } from 'multiformats/cid'
import type { CommitIntent } from '../../catalogue/records.ts'
import type { ClusterRegistry } from '../../clusters/cluster-registry.ts'
import { type StagingBackend, stagingOf } from '../../clusters/staging-backend.ts'
import { stageCar } from '../../content/car/car-import.ts'
import { stagedCar } from '../../content/car/staged-car.ts'
import { assembleDag } from '../../content/dag/assembly.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import type { PossessedContent } from '../../content/taken-source.ts'
import { listContent } from '../../content/unixfs/content-listing.ts'
import { type FileTotals, kindOf, type UnixfsKind } from '../../content/unixfs/unixfs-files.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'
import type { ByteSource } from '../../domain/sources.ts'
import { checkNew, dagKey, identityOf } from '../../ipld/cid.ts'
import { Possessor, PUBLIC } from '../../ledger/possessor.ts'
import type { DecidedTarget, Requester } from '../decided-pin.ts'
import type { FetchScheduler } from '../fetch/fetch-scheduler.ts'
import type { PinCommit } from '../pin-commit.ts'
import { storedNames } from '../pin-names.ts'
import type { CarImportOptions, CarOutcome, CarRoot, HandOver, PinNames, PinType } from '../pin-types.ts'
import { newUploadId } from '../present-record.ts'
import type { UploadStaging } from './upload-staging.ts'

/** Each root becomes a record. */
const MOST_ROOTS = 100

interface Parts {
  clusters: ClusterRegistry
  staging: UploadStaging
  commit: PinCommit
  stored: PossessedContent
  scheduler: FetchScheduler
  clock: Clock
  bounds: { maxBlocks: number; maxDepth: number }
}

interface Assembled {
  root: CID
  /** Blocks that the root needs, on the backend of the target cluster. */
  staged: StagedDag
  missing: CarRoot['missing']
  kind: UnixfsKind
  contentSize: number
  /** Target of its record, which is private if the DAG has private blocks that the CAR lacked. */
  target: DecidedTarget
}

interface Job {
  requester: Requester
  target: DecidedTarget
  names: PinNames
  home: StagingBackend
  allowPartial: boolean
  signal: AbortSignal | undefined
  token: string | undefined
}

/**
 * Imports CARs. Stages all blocks of the CAR, in any order. Then each root claims the blocks that it needs, and
 * unclaimed blocks are deleted.
 */
export class CarImporter {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  import<T = never>(
    source: ByteSource,
    options: CarImportOptions,
    handOver?: HandOver<Uint8Array, T>,
  ): Promise<CarOutcome | T> {
    const { staging, clusters } = this.#parts
    return staging.run(options, 'car', async upload => {
      const { staged: scratch, budget, requester, giveBack } = upload
      const { signal, onProgress, allowPartial = false } = options
      if (allowPartial) checkPartial(requester.plan)
      const onBytes = budget.counting(scratch, onProgress)
      const roots = distinct(await stageCar(scratch, source, { signal, onBytes, onRoots: checkRoots }))
      const decided = await staging.decide(requester, options)
      if (decided.node !== null) return staging.handOver(upload, decided, s => stagedCar(scratch, roots, s), handOver)
      const { settings, target } = decided
      await scratch.settle()
      const job = {
        requester,
        target,
        names: settings,
        home: stagingOf(clusters.backendOf(target.clusterId)),
        allowPartial,
        signal,
        token: options.token?.id,
      }
      const assembled: Assembled[] = []
      try {
        for (const root of roots) assembled.push(await this.#assemble(root, scratch, job))
        signal?.throwIfAborted()
        giveBack()
        const outcome = await this.#commit(assembled, job)
        await scratch.abandon()
        staging.dropped(
          requester,
          scratch,
          assembled.reduce((sum, { staged }) => sum + staged.charge, 0),
        )
        return outcome
      } catch (error) {
        for (const { staged } of assembled) await staged.abandon()
        throw error
      }
    })
  }

  /** @throws HoldfastError `VALIDATION` if a block is missing and `allowPartial` is false */
  async #assemble(root: CID, scratch: StagedDag, job: Job): Promise<Assembled> {
    const { home, requester, allowPartial, signal } = job
    const { bounds, stored, clock } = this.#parts
    const visitor = new Possessor(PUBLIC, clock, scratch.rootId)
    const own = new Possessor(job.target.possessor, clock, scratch.rootId)
    const staged = await home.staging.stage()
    try {
      let missing: Assembled['missing'] = null
      const onMissing = (cid: CID): void => {
        if (!allowPartial) throw incomplete(root, cid)
        missing = { blocks: (missing?.blocks ?? 0) + 1, first: missing?.first ?? cid.toString() }
      }
      let { target } = job
      // The blocks of the CAR come first, then public blocks, then private blocks of the account.
      const holderOf = (cid: CID) => {
        const open = stored.blocksOf(cid, visitor)
        const holder = open ?? stored.blocksOf(cid, own)
        if (open === null && holder !== null && target.owner === PUBLIC) {
          target = { ...target, owner: target.ownerOfPrivate }
        }
        return holder
      }
      await assembleDag(root, { into: staged, holderOf, onMissing, ...bounds, signal })
      const result = { root, staged, target, missing: missing as Assembled['missing'] }
      if (missing !== null) return { ...result, kind: 'other', contentSize: 0 }
      const { kind } = kindOf(root, await staged.get(root))
      const limits = new SizeLimits(requester.plan)
      const contentSize = await listContent(staged, root, staged, signal, limits)
      if (kind === 'file') limits.file(contentSize)
      await staged.settle()
      return { ...result, kind, contentSize }
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  async #commit(assembled: readonly Assembled[], job: Job): Promise<CarOutcome> {
    const { commit, scheduler } = this.#parts
    const whole = assembled.filter(({ missing }) => missing === null)
    const partial = assembled.filter(({ missing }) => missing !== null)
    const outcomes = await commit.commitAll(
      whole.map(({ root, staged, kind, contentSize, target }) => ({
        requester: job.requester,
        target,
        names: job.names,
        type: typeOf(kind),
        cid: root,
        cidText: root.toString(),
        staged,
        backend: job.home,
        sizes: staged.sizes(contentSize),
        signal: job.signal,
      })),
      partial.map(one => this.#partialPin(one, job)),
      job.token,
    )
    if (partial.length > 0) scheduler.wake()
    const made = [...whole, ...partial]
    const roots = assembled.map((one): CarRoot => {
      const outcome = outcomes[made.indexOf(one)]
      if (outcome === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a root of a CAR has no record')
      return { ...outcome, missing: one.missing }
    })
    const [first] = roots
    if (first === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a CAR without roots was taken in')
    return { record: first.record, created: roots.some(({ created }) => created), roots }
  }

  #partialPin({ root, staged, missing, target }: Assembled, { requester, names, home }: Job): CommitIntent {
    const now = this.#parts.clock.now()
    const others = missing === null || missing.blocks === 1 ? '' : ` and ${missing.blocks - 1} others`
    return {
      kind: 'partial',
      brought: { blocks: staged.blockCount, bytes: staged.dagSize, charge: staged.charge },
      record: {
        id: newUploadId(now),
        accountId: requester.account.id,
        clusterId: target.clusterId,
        cid: root.toString(),
        ...identityOf(root),
        type: 'pin' as const,
        ...storedNames(names),
        status: 'failed' as const,
        statusAt: now,
        statusCode: 'INCOMPLETE',
        statusReason: `INCOMPLETE: the CAR lacked ${missing?.first}${others}`,
        size: 0,
        owner: target.owner,
        expiresAt: target.expiresAt,
        createdAt: now,
      },
      backendId: home.id,
      owner: target.owner,
      possessor: target.possessor === target.owner ? target.owner : PUBLIC,
      stagedRootId: staged.rootId,
      limits: requester.plan,
      now,
    }
  }
}

/** Checks the files in a CAR against the same limits as an upload of the files. */
class SizeLimits {
  readonly #plan: Plan
  #files = 0

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** @throws HoldfastError `FILE_TOO_LARGE`, `DIRECTORY_TOO_LARGE` */
  file(size: number): void {
    const { maxFileBytes, maxDirectoryFiles } = this.#plan
    if (maxFileBytes !== null && size > maxFileBytes) {
      throw new HoldfastError('FILE_TOO_LARGE', `the plan allows files of ${maxFileBytes} bytes`)
    }
    this.#files++
    if (maxDirectoryFiles !== null && this.#files > maxDirectoryFiles) throw tooManyFiles(maxDirectoryFiles)
  }

  /** @throws HoldfastError `DIRECTORY_TOO_LARGE` */
  directory({ bytes, files }: FileTotals): void {
    const { maxDirectoryBytes, maxDirectoryFiles } = this.#plan
    if (maxDirectoryFiles !== null && files > maxDirectoryFiles) throw tooManyFiles(maxDirectoryFiles)
    if (maxDirectoryBytes !== null && bytes > maxDirectoryBytes) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows directories of ${maxDirectoryBytes} bytes`)
    }
  }
}

function tooManyFiles(most: number): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows ${most} files in a directory`)
}

function checkRoots(roots: readonly CID[]): void {
  if (roots.length === 0)
    throw new HoldfastError('VALIDATION', 'the CAR names no roots, so nothing of it can be pinned')
  if (roots.length > MOST_ROOTS) throw new HoldfastError('VALIDATION', `the CAR names more than ${MOST_ROOTS} roots`)
  for (const root of roots) checkNew(root)
}

function checkPartial({ name, maxStorageBytes }: Plan): void {
  if (maxStorageBytes === null) return
  const reason = 'its storage limit cannot count missing blocks'
  throw new HoldfastError('NOT_OFFERED', `the plan ${name} does not allow incomplete content: ${reason}`)
}

function distinct(roots: readonly CID[]): CID[] {
  return [...new Map(roots.map(root => [dagKey(root), root])).values()]
}

function incomplete(root: CID, missing: CID): HoldfastError {
  const what = dagKey(root) === dagKey(missing) ? `root ${root}` : `block ${missing}, which root ${root} needs,`
  return new HoldfastError('VALIDATION', `the CAR is incomplete: ${what} is not in it`)
}

function typeOf(kind: UnixfsKind): PinType {
  return kind === 'other' ? 'pin' : kind
}
