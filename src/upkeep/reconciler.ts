import type { Reconciliation } from '../catalogue/reconciliation.ts'
import type { AccountUsage } from '../catalogue/records.ts'
import type { Activity } from '../concurrency/activity.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockAudit } from '../content/block-audit.ts'
import type { BlockStore } from '../content/block-store.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { Blocks, StoredBlock } from '../ledger/blocks.ts'
import { ClusterSurvey, type ClusterSurveyParts } from './cluster-survey.ts'
import { type FindingKind, type Reconciled, type ReconcileOptions, sidesOf } from './findings.ts'
import type { LostBlocks } from './lost-blocks.ts'

export interface ReconcilerParts {
  reconciliation: Reconciliation
  blocks: Blocks
  audit: BlockAudit
  stores: ReadonlyMap<number, BlockStore>
  /** Returns the backend id of each cluster. Clusters whose content is on other nodes are absent. */
  homes: () => ReadonlyMap<string, number>
  clock: Clock
  activity: Activity
  /** Reads the database into memory, if it fits. */
  readAhead: (signal?: AbortSignal) => Promise<void>
  lost: LostBlocks
  /** Problem with the history of the catalogue's database. Null if the database belongs to this node alone. */
  past: { readonly problem: string | null; accept(problem: string): void } | null
  /** Throws if the database was set back and a node has not offered its content yet. */
  checkOffered: () => Promise<void>
  /** Called with the ids of the fetches that records have joined or left. */
  fetchesChanged: (fetchIds: readonly number[]) => Promise<void>
  clusters: Omit<ClusterSurveyParts, 'onChanges'>
}

const BATCH = 64
const COUNTED_AT_ONCE = 100
/** Blocks whose files are looked up concurrently. */
const SIZED_AT_ONCE = 16
const MOST_FINDINGS = 1_000
/** Maximum share of all holds, roots or records that are released or reported as lost without `force`. */
const MOST_RELEASED = 0.01

/**
 * Compares records, holds, roots, blocks and files in both directions, and repairs inconsistencies, in short steps
 * alongside all other work.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  #running = false

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
  }

  /**
   * @throws HoldfastError `CONFLICT` if another reconciliation is running, or if so much would be released that the
   * database may be the wrong one
   */
  async run(options: ReconcileOptions = {}): Promise<Reconciled> {
    if (this.#running) throw new HoldfastError('CONFLICT', 'a reconciliation is running already')
    this.#running = true
    try {
      return await this.#parts.activity.run(options.signal, async signal => {
        const { past } = this.#parts
        if (options.dryRun !== true) await this.#parts.checkOffered()
        const asks = options.dryRun !== true && options.force !== true
        const problem = past?.problem ?? null
        if (asks && problem !== null) {
          throw new HoldfastError('CONFLICT', `${problem}: check with dryRun that it is right, then repeat with force`)
        }
        const pass = new Pass(this.#parts, { ...options, signal })
        const survey = await pass.clusters()
        // On a cold disk, one statement of a step would hold the event loop for a second.
        if (options.onlyClusters !== true) await this.#parts.readAhead(signal)
        if (options.dryRun !== true && options.force !== true) survey.checkReleases()
        if (options.onlyClusters === true) {
          if (options.dryRun !== true) await survey.release()
          return pass.outcome
        }
        if (asks) await this.#checkLost({ ...options, signal })
        // Records come first, because their repair adds missing holds. Otherwise the next steps would find the roots of
        // these records unwanted.
        await pass.records()
        if (asks) {
          const looked = new Pass(this.#parts, { ...options, dryRun: true, signal })
          await looked.holds()
          await looked.roots()
          checkReleases(looked.outcome)
        }
        await pass.rest()
        if (options.dryRun !== true) await survey.release()
        // Accept only the problem that was known at the start. The operator has not confirmed a problem found during
        // the run.
        if (options.dryRun !== true && problem !== null) past?.accept(problem)
        return pass.outcome
      })
    } finally {
      this.#running = false
    }
  }

  /**
   * Throws if many records would be reported as lost and lose their holds, because a cluster may have the wrong
   * directory.
   */
  async #checkLost(options: ReconcileOptions): Promise<void> {
    const looked = new Pass(this.#parts, { ...options, dryRun: true })
    await looked.records()
    const { seen, found } = looked.outcome
    const lost = found['record-lost'] ?? 0
    if (lost <= seen.records * MOST_RELEASED) return
    const question = 'check with dryRun that every cluster has its own directory, then repeat with force'
    throw new HoldfastError('CONFLICT', `${lost} of ${seen.records} records would be called lost: ${question}`)
  }
}

function differencesOf(noted: AccountUsage, counted: AccountUsage): string[] {
  const names = ['pins', 'expiringPins', 'storedBytes'] as const
  return names
    .filter(name => noted[name] !== counted[name])
    .map(name => `${name}: ${noted[name]} stored, ${counted[name]} counted`)
}

function checkReleases({ seen, found }: Reconciled): void {
  for (const [what, count, all] of [
    ['holds', found['hold-unwanted'] ?? 0, seen.holds],
    ['roots', found['root-unwanted'] ?? 0, seen.roots],
  ] as const) {
    if (count <= all * MOST_RELEASED) continue
    const question = 'check with dryRun that this is the right database, then repeat with force'
    throw new HoldfastError('CONFLICT', `${count} of ${all} ${what} would be released: ${question}`)
  }
}

class Pass {
  readonly outcome: Reconciled
  readonly #parts: ReconcilerParts
  readonly #options: ReconcileOptions
  readonly #mend: boolean

  constructor(parts: ReconcilerParts, options: ReconcileOptions) {
    this.#parts = parts
    this.#options = options
    this.#mend = options.dryRun !== true
    const external = { placements: 0, pins: 0, samples: 0 }
    const seen = { holds: 0, roots: 0, records: 0, fetches: 0, accounts: 0, blocks: 0, files: 0, ...external }
    this.outcome = { dryRun: options.dryRun === true, seen, found: {}, findings: [] }
  }

  /** Checks external clusters. Only {@link ClusterSurvey.release} releases their pins. */
  async clusters(): Promise<ClusterSurvey> {
    const { clusters, lost } = this.#parts
    const survey = new ClusterSurvey(
      { ...clusters, onChanges: changes => lost.changed(changes) },
      {
        signal: this.#options.signal ?? new AbortController().signal,
        mend: this.#mend,
        found: (kind, what, detail) => this.#found(kind, what, detail),
        looked: (what, count) => this.#looked(what, count),
      },
    )
    await survey.look()
    return survey
  }

  async rest(): Promise<void> {
    await this.holds()
    await this.roots()
    await this.#fetches()
    await this.#accounts()
    await this.#blocks()
    await this.#files()
  }

  async holds(): Promise<void> {
    for (let after: string | null = ''; after !== null; ) {
      const step = await this.#parts.reconciliation.holds({ after, limit: BATCH, mend: this.#mend })
      for (const id of step.unwanted) this.#found('hold-unwanted', id)
      after = step.last
      await this.#looked('holds', step.seen)
    }
  }

  async roots(): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const step = await this.#parts.reconciliation.roots({ after, limit: BATCH, mend: this.#mend })
      for (const cid of step.unwanted) this.#found('root-unwanted', cid)
      after = step.last
      await this.#looked('roots', step.seen)
    }
  }

  async records(): Promise<void> {
    const { reconciliation, homes, clock } = this.#parts
    for (let after: string | null = ''; after !== null; ) {
      const now = clock.now()
      const step = await reconciliation.records({ after, limit: BATCH, homes: homes(), now, mend: this.#mend })
      for (const { kind, record, cid, catalogue } of step.findings) {
        this.#found(kind, record, catalogue === undefined ? cid : `${cid} ${sidesOf(catalogue)}`)
      }
      await this.#parts.lost.changed(step.changes)
      after = step.last
      await this.#looked('records', step.seen)
    }
  }

  async #fetches(): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const step = await this.#parts.reconciliation.fetches({ after, limit: BATCH })
      for (const id of step.unwanted) this.#found('fetch-unwanted', String(id))
      if (this.#mend) await this.#parts.fetchesChanged(step.unwanted)
      after = step.last
      await this.#looked('fetches', step.seen)
    }
  }

  /** Runs after the records, because the repair of records changes the counts. */
  async #accounts(): Promise<void> {
    const { reconciliation } = this.#parts
    for (let after: string | undefined = ''; after !== undefined; ) {
      const accounts: string[] = await reconciliation.accounts({ after, limit: BATCH })
      for (const account of accounts) await this.#recount(account)
      after = accounts.at(-1)
    }
  }

  async #recount(accountId: string): Promise<void> {
    const step = { accountId, limit: COUNTED_AT_ONCE, mend: this.#mend }
    let count = await this.#parts.reconciliation.recount(step)
    for (; count === 'more'; count = await this.#parts.reconciliation.recount(step)) await this.#looked('accounts', 0)
    const differences = count === null ? [] : differencesOf(count.noted, count.counted)
    if (differences.length > 0) this.#found('usage-wrong', accountId, differences.join(', '))
    await this.#looked('accounts', 1)
  }

  async #blocks(): Promise<void> {
    const { blocks, audit } = this.#parts
    const { signal } = this.#options
    for (let after = 0; ; ) {
      const batch = blocks.durableAfter(after, BATCH)
      const last = batch.at(-1)
      if (last === undefined) return
      after = last.id
      for (let i = 0; i < batch.length; i += SIZED_AT_ONCE) {
        const some = batch.slice(i, i + SIZED_AT_ONCE)
        const problems = await Promise.all(
          some.map(async block => {
            if (turnSpent()) await nextTurn(signal)
            return audit.problemOf(block)
          }),
        )
        for (const block of some.filter((_, j) => problems[j] !== null)) {
          // The repair of another block may have taken long.
          const problem = await audit.problemOf(block)
          if (problem !== null) await this.#lost(block, problem)
        }
        if (turnSpent()) await nextTurn(signal)
      }
      await this.#looked('blocks', batch.length)
    }
  }

  async #lost(block: StoredBlock, problem: string): Promise<void> {
    this.#found('block-lost', cidOf({ codec: CODEC.raw, multihash: block.multihash }).toString(), problem)
    if (this.#mend) await this.#parts.lost.see(block, problem, { requeue: true, signal: this.#options.signal })
  }

  async #files(): Promise<void> {
    const { signal } = this.#options
    for (const store of this.#parts.stores.values()) {
      for (const directory of await store.directories()) {
        const strays = this.#mend ? await store.claimStrays(directory, signal) : await store.straysIn(directory, signal)
        const multihashes = strays.map(stray => ('multihash' in stray ? stray.multihash : stray))
        for (const multihash of multihashes)
          this.#found('file-unknown', cidOf({ codec: CODEC.raw, multihash }).toString())
        const doomed = strays.filter(stray => 'multihash' in stray)
        if (doomed.length > 0) await store.delete(doomed)
        await this.#looked('files', 1)
      }
    }
  }

  #found(kind: FindingKind, what: string, detail: string | null = null): void {
    const { found, findings } = this.outcome
    found[kind] = (found[kind] ?? 0) + 1
    if (findings.length < MOST_FINDINGS) findings.push({ kind, what, detail })
  }

  async #looked(what: keyof Reconciled['seen'], count: number): Promise<void> {
    const { signal, onProgress } = this.#options
    this.outcome.seen[what] += count
    const sum = (counts: object): number => Object.values(counts).reduce((all, one) => all + one, 0)
    onProgress?.({ seen: sum(this.outcome.seen), found: sum(this.outcome.found) })
    signal?.throwIfAborted()
    if (turnSpent()) await nextTurn(signal)
  }
}
