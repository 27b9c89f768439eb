import type { CID } from 'multiformats/cid'
import type { CommitIntent, Committed, Records } from '../catalogue/records.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { type StagingBackend, stagingOf } from '../clusters/staging-backend.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { ADMITTED } from '../content/dag/walk.ts'
import { StagedBlocks } from '../content/taken-source.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { identityOf } from '../ipld/cid.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import type { DagSizes, OwnedDag } from '../ledger/whole-dag.ts'
import type { DecidedTarget, Requester } from './decided-pin.ts'
import type { DeletionStop } from './deletion-stop.ts'
import type { PinChanges } from './pin-changes.ts'
import { type StoredNames, storedNames } from './pin-names.ts'
import type { PinNames, PinOutcome, PinRecord, PinType } from './pin-types.ts'
import { newUploadId, presentRecord } from './present-record.ts'

export interface CommitInput {
  requester: Requester
  target: DecidedTarget
  names: PinNames
  type: PinType
  /** CID as the client spelled it. The record stores this spelling. */
  cidText: string
  cid: CID
  /** If null, `backend` already stores the DAG as part of a complete root. */
  staged: StagedDag | null
  backend: StagingBackend
  sizes: DagSizes
  /** If true, creates a new record even if an identical record exists. */
  isAnew?: boolean
  signal?: AbortSignal | undefined
}

export interface PinCommitParts {
  clusters: ClusterRegistry
  records: Records
  clock: Clock
  changes: PinChanges
  deletion: DeletionStop
  leaveFetch: (fetchId: number) => Promise<void>
  /** Has the other nodes copy a new record, if its cluster wants several copies. Null for a node without a fleet. */
  copied: ((record: OwnedDag & { clusterId: string }) => Promise<PinRecord['copies'] | null>) | null
}

/** Last step of every upload and pin. Marks the root as complete and writes the record in one short transaction. */
export class PinCommit {
  readonly #parts: PinCommitParts

  constructor(parts: PinCommitParts) {
    this.#parts = parts
  }

  /**
   * Pins one content. If the commit fails, the staged DAG is abandoned.
   * @throws HoldfastError `QUOTA_EXCEEDED`; `VALIDATION` for a name; any error of copying the DAG to the cluster's
   * backend
   */
  async commit(input: CommitInput, token?: string): Promise<PinOutcome> {
    const [outcome] = await this.commitAll([input], [], token)
    if (outcome === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a pin was committed without outcome')
    return outcome
  }

  /**
   * Pins all contents, or none of them if one fails.
   * @param partial incomplete contents to record in the same transaction. On failure the caller abandons the staged
   * DAGs of these contents.
   * @param token id of an upload token. The whole call counts as one use of the token.
   * @throws the errors of {@link commit}
   */
  async commitAll(
    inputs: readonly CommitInput[],
    partial: readonly CommitIntent[] = [],
    token?: string,
  ): Promise<PinOutcome[]> {
    const made = await this.#complete(inputs, partial, token)
    return Promise.all(made.map(committed => this.#publish(committed)))
  }

  async #complete(
    inputs: readonly CommitInput[],
    partial: readonly CommitIntent[],
    token: string | undefined,
  ): Promise<Committed[]> {
    const all = inputs.map(input => ({ input, staged: input.staged }))
    try {
      const intents: CommitIntent[] = []
      for (const one of all) {
        const names = storedNames(one.input.names)
        await one.staged?.settle()
        const home = this.#parts.clusters.backendOf(one.input.target.clusterId)
        if (home !== one.input.backend && one.staged !== null) {
          await one.staged.begin()
          await one.staged.settle()
          one.staged = await handOver(one.input, one.staged, home)
        }
        if (one.input.target.owner !== PUBLIC) await one.staged?.close()
        intents.push(await this.#intentOf(one.input, names, one.staged, home.id))
      }
      const made = await this.#parts.records.commit([...intents, ...partial], token)
      for (const [index, { input, staged }] of all.entries()) if (made[index]?.healed) staged?.store.healed(input.cid)
      return made
    } catch (error) {
      for (const { staged } of all) await staged?.abandon()
      throw error
    }
  }

  async #intentOf(
    input: CommitInput,
    names: StoredNames,
    staged: StagedDag | null,
    backendId: number,
  ): Promise<CommitIntent> {
    const { requester, target, type, cid, sizes, isAnew = false } = input
    const now = this.#parts.clock.now()
    const dag = identityOf(cid)
    return {
      kind: 'whole',
      backendId,
      ...(staged?.onlyBlock == null
        ? { stagedRootId: staged?.rootId ?? null }
        : { stagedRootId: null, block: staged.onlyBlock }),
      dag: { ...dag, owner: target.owner, ...sizes },
      record: {
        id: newUploadId(now),
        accountId: requester.account.id,
        clusterId: target.clusterId,
        cid: input.cidText,
        ...dag,
        type,
        ...names,
        status: 'pinned' as const,
        statusAt: now,
        statusCode: null,
        statusReason: null,
        size: sizes.contentSize,
        owner: target.owner,
        expiresAt: target.expiresAt,
        createdAt: now,
      },
      limits: await this.#parts.deletion.lowered(requester.account.id, requester.plan),
      isAnew,
      now,
    }
  }

  async #publish({ record: row, created, waited }: Committed): Promise<PinOutcome> {
    if (created) this.#parts.changes.created(row)
    if (waited !== null) {
      if (waited.status === 'failed')
        this.#parts.changes.changed({ ...waited, status: 'queued', statusCode: null, statusReason: null }, 'failed')
      const from = waited.status === 'failed' ? 'queued' : waited.status
      if (row.status !== from) this.#parts.changes.changed(row, from)
      if (waited.fetchId !== null) await this.#parts.leaveFetch(waited.fetchId)
    }
    const copies = created && row.status === 'pinned' ? await this.#parts.copied?.(row) : null
    return { record: { ...presentRecord(row), ...(copies && { copies }) }, created }
  }
}

/** Copies the DAG to the backend of the target cluster. Returns the staged copy, and abandons the original staging. */
async function handOver(input: CommitInput, staged: StagedDag, home: ClusterBackend): Promise<StagedDag> {
  const { cid, signal } = input
  const source = new StagedBlocks(staged)
  const copy = await stagingOf(home).staging.take(cid, source, { maxBlocks: ADMITTED, signal })
  try {
    await copy.takeFilesOf(staged)
    await staged.abandon()
    return copy
  } catch (error) {
    await copy.abandon()
    throw error
  }
}
