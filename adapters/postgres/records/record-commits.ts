import type { CommitIntent, Committed } from '../../../src/catalogue/records.ts'
import { HoldfastError, isHoldfastError } from '../../../src/domain/errors.ts'
import { AccountBatches, type CallSize, type Later, type Outcome } from '../access/account-batches.ts'
import { LockedTokens } from '../access/locked-tokens.ts'
import type { Sql } from '../database/sql.ts'
import { StatementFailure } from '../database/statement-failure.ts'
import { NeedsHold } from '../holds/shared-holds.ts'
import { ContentChange, type ContentParts, type Prepared } from './content-change.ts'

type WholeIntent = CommitIntent & { kind: 'whole' }

/** A call of {@link RecordCommits.commit} whose holds are placed. */
interface PreparedCommit {
  intents: readonly CommitIntent[]
  prepared: readonly Prepared[]
  token: string | undefined
}

type Decision = Outcome<Committed[]>

/** Approximate bytes of the parameters for a record without name and meta, and for each character of its name. */
const BYTES_OF_RECORD = 1_024
const BYTES_OF_CHARACTER = 48

/**
 * Commits records. The commits that wait while transactions run share the next transaction, in which each is decided as
 * if the earlier ones had been committed.
 */
export class RecordCommits {
  readonly #parts: ContentParts
  readonly #batches: AccountBatches<PreparedCommit, Committed[]>

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#batches = new AccountBatches((commits, later) => this.#commitBatch(commits, later))
  }

  async commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]> {
    for (let isRetry = false; ; isRetry = true) {
      const commit = { intents, prepared: await this.#prepare(intents, isRetry), token }
      let made: Committed[]
      try {
        made = await this.#commit(commit)
      } catch (error) {
        if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) throw error
        await this.#parts.holds.discard(holdsOf(commit.prepared))
        if (!(error instanceof NeedsHold) || isRetry) throw error
        continue
      }
      return this.#settled(commit, made)
    }
  }

  /**
   * Places the holds. An existing record needs none, unless it is removed before the commit: then the retry places one.
   */
  async #prepare(intents: readonly CommitIntent[], isRetry: boolean): Promise<Prepared[]> {
    const { holds } = this.#parts
    const prepared: Prepared[] = intents.map(() => ({ hold: null }))
    try {
      for (const [i, intent] of intents.entries()) {
        if (intent.kind === 'partial') {
          prepared[i] = { hold: { id: await holds.keep(intent.stagedRootId), rootId: null } }
        }
      }
      const whole = [...intents.entries()].filter((entry): entry is [number, WholeIntent] => entry[1].kind === 'whole')
      const placed = await holds.place(
        whole.map(([, { backendId, stagedRootId, dag, record, block = null, now, isAnew = false }]) => ({
          backendId,
          stagedRootId,
          dag,
          ends: record.expiresAt,
          accountId: record.accountId,
          block: block && { ...block, now },
          unlessRepeated: isRetry || isAnew ? null : { record, now },
        })),
      )
      for (const [i, [index]] of whole.entries()) prepared[index] = { hold: placed[i] ?? null }
      return prepared
    } catch (error) {
      await holds.discard(holdsOf(prepared))
      // The unknown outcome is only that of a hold's placement. No record was written.
      throw isHoldfastError(error, 'OUTCOME_UNKNOWN') ? notRecorded(error) : error
    }
  }

  async #commit(commit: PreparedCommit): Promise<Committed[]> {
    const [only] = commit.intents
    // A commit of several records, or with a fetch or placement, is undone by the rollback of its own transaction.
    const mayShare = only?.kind === 'whole' && commit.intents.length === 1 && !this.#parts.external.has(only.backendId)
    if (mayShare) return this.#batches.add(only.record.accountId, commit, sizeOf(only))
    const [decision] = await this.#commitBatch([commit], () => [])
    if (isDone(decision)) return decision.value
    throw typeof decision === 'object' ? decision.error : new HoldfastError('INTERNAL_ERROR', 'a commit has no outcome')
  }

  /**
   * Runs commits in one transaction, in their order.
   *
   * @param later returns further commits of the only account, once it is locked; null to set the commits of locked
   * accounts aside, instead of waiting
   * @throws the error of the only commit, or of a statement; nothing was written
   */
  async #commitBatch(first: readonly PreparedCommit[], later: Later<PreparedCommit> | null): Promise<Decision[]> {
    const { database } = this.#parts
    const waits = later !== null
    const accounts = [...new Set(first.flatMap(accountsOf))]
    const lane = waits && accounts.length === 1 ? (accounts[0] ?? null) : null
    let commits = first
    let decisions: Decision[] = []
    try {
      const run = async (sql: Sql): Promise<Decision[]> => {
        const change = await ContentChange.begin(sql, this.#parts, accounts, {
          intents: first.flatMap(intentsOf),
          waits,
        })
        // A retry after a collision has the same commits.
        if (commits === first) commits = [...first, ...(later?.() ?? [])]
        await change.read(commits.slice(first.length).flatMap(intentsOf))
        const open = commits.filter(commit => waits || accountsOf(commit).every(id => change.accounts.has(id)))
        const tokens = await LockedTokens.lock(
          sql,
          open.flatMap(({ token }) => token ?? []),
        )
        decisions = await decideAll(commits, new Set(open), change, tokens)
        await Promise.all([change.write(), tokens.write()])
        return decisions
      }
      return await database.transaction(run, lane, true)
    } catch (error) {
      // While the database is away, the commits of a batch are not tried one by one.
      if (database.isRefused && isHoldfastError(error, 'UNAVAILABLE')) return commits.map(() => ({ error }))
      if (!isHoldfastError(error, 'OUTCOME_UNKNOWN')) throw error
      return this.#lookUp(commits, decisions, error)
    }
  }

  /** Finds out whether a transaction whose answer was lost has committed. */
  async #lookUp(commits: readonly PreparedCommit[], decisions: readonly Decision[], unknown: HoldfastError) {
    const written = commits.filter((_, i) => isDone(decisions[i]))
    const failed = (error: unknown) => decisions.map(decision => (isDone(decision) ? { error } : decision))
    try {
      const holds = written.flatMap(({ prepared }) => holdsOf(prepared))
      return (await this.#hasCommitted(holds, unknown)) ? [...decisions] : failed(notRecorded(unknown))
    } catch (error) {
      return failed(error)
    }
  }

  /**
   * Returns whether a commit whose answer was lost has used a hold. If not, makes the holds void, so that a late commit
   * fails.
   */
  async #hasCommitted(ids: readonly string[], unknown: HoldfastError): Promise<boolean> {
    if (ids.length === 0) throw unknown
    try {
      return await this.#parts.database.transaction(async sql => {
        const text = 'SELECT state FROM holds WHERE id = ANY($1) ORDER BY id FOR UPDATE'
        const isUsed = (await sql.all<{ state: string }>(text, [ids])).some(({ state }) => state === 'used')
        if (!isUsed) await this.#parts.holds.void(sql, ids)
        return isUsed
      })
    } catch {
      throw unknown
    }
  }

  /**
   * Discards the holds and staged roots of records that existed already, and repairs their blocks.
   *
   * @throws HoldfastError `OUTCOME_UNKNOWN` if the ledger fails after the catalogue has committed
   */
  async #settled({ intents, prepared }: PreparedCommit, made: readonly Committed[]): Promise<Committed[]> {
    const { ledger, holds } = this.#parts
    if (made.some(isRepeat)) await holds.discard(holdsOf(prepared))
    const settle = async (one: Committed, i: number): Promise<Committed> => {
      const intent = intents[i]
      if (!isRepeat(one)) return { ...one, healed: prepared[i]?.hold?.healed === true }
      if (intent?.kind !== 'whole') return one
      const { backendId, stagedRootId, block = null } = intent
      if (stagedRootId !== null) await ledger.abandon([stagedRootId])
      return { ...one, healed: block !== null && (await ledger.mend(backendId, block)) }
    }
    try {
      return await Promise.all(made.map(settle))
    } catch (cause) {
      const message = 'the record is written, but the disk of this node failed: repeat the request after a restart'
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
    }
  }
}

/** Decides commits in their order. After one that is set aside, the later ones of its account are set aside, too. */
async function decideAll(
  commits: readonly PreparedCommit[],
  open: ReadonlySet<PreparedCommit>,
  change: ContentChange,
  tokens: LockedTokens,
): Promise<Decision[]> {
  const aside = new Set<string>()
  const decisions: Decision[] = []
  for (const commit of commits) {
    const needsOwn = commits.length > 1 && commit.intents.some(intent => change.fulfils(intent))
    const accounts = accountsOf(commit)
    if (!open.has(commit) || needsOwn || accounts.some(id => aside.has(id))) {
      for (const id of accounts) aside.add(id)
      decisions.push('aside')
      continue
    }
    try {
      decisions.push({ value: await decide(commit, change, tokens) })
    } catch (error) {
      // A failed statement has ended the transaction. A commit that is alone may have sent statements.
      if (error instanceof StatementFailure || commits.length === 1) throw error
      decisions.push({ error })
    }
  }
  return decisions
}

async function decide(
  { intents, prepared, token }: PreparedCommit,
  change: ContentChange,
  tokens: LockedTokens,
): Promise<Committed[]> {
  if (token !== undefined) tokens.check(token)
  const made: Committed[] = []
  for (const [i, intent] of intents.entries()) made.push(await change.commit(intent, prepared[i] ?? { hold: null }))
  if (token !== undefined) tokens.take(token)
  return made
}

function isDone(decision: Decision | undefined): decision is { value: Committed[] } {
  return typeof decision === 'object' && 'value' in decision
}

function isRepeat({ created, waited }: Committed): boolean {
  return !created && waited === null
}

function holdsOf(prepared: readonly Prepared[]): string[] {
  return prepared.flatMap(({ hold }) => hold?.id ?? [])
}

function intentsOf({ intents }: PreparedCommit): readonly CommitIntent[] {
  return intents
}

function accountsOf({ intents }: PreparedCommit): string[] {
  return intents.map(({ record }) => record.accountId)
}

function sizeOf({ record: { name, meta } }: CommitIntent): CallSize {
  return { items: 1, bytes: BYTES_OF_RECORD + (name?.length ?? 0) * BYTES_OF_CHARACTER + (meta?.length ?? 0) }
}

function notRecorded(cause: HoldfastError): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the catalogue or the disk failed; nothing was recorded', { cause })
}
