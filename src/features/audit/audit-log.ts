import { clientOf } from '../../access/limits/network-address.ts'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { AuditedAction, AuditSink } from '../../http/audited-request.ts'
import { AuditGroups } from './audit-groups.ts'
import type { AuditFilter, AuditRow, AuditStore, NewAuditEntry } from './audit-store.ts'

export interface AuditLogOptions {
  store: AuditStore
  clock: Clock
  logger: Logger
  retention: { keepDays: number; maxEntries: number }
}

/** Longest time that a request waits for its entry. */
const WAIT_MS = 2_000
/** Time between the writes of shared entries, and before the retry of a failed write. */
const FLUSH_MS = 5_000
const PRUNE_MS = 3_600_000
const DAY_MS = 86_400_000
const ENTRIES_AT_ONCE = 100
/** Entries that wait for the catalogue. */
const MOST_PENDING = 2_000
const LONGEST_SUBJECT = 200

/**
 * The audit log. The entry of an account is durable before the answer, but a failed write does not fail the action: the
 * action has happened. Such an entry goes to the log of the process, waits in memory and is written later. Failures of
 * strangers wait up to five seconds in memory, because a durable write for each would serve an attacker.
 */
export class AuditLog implements AuditSink {
  readonly #options: AuditLogOptions
  readonly #groups = new AuditGroups()
  readonly #pending = new Map<string, NewAuditEntry>()
  /** Unwritten entries that the log of the process has. */
  readonly #logged = new WeakSet<NewAuditEntry>()
  #writing: Promise<void> = Promise.resolve()
  /** The write that has not begun. */
  #next: Promise<void> | null = null
  #cancelFlush: (() => void) | null = null
  #cancelPrune: (() => void) | null = null
  #isStopping = false

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  /** Deletes entries beyond the retention every hour. Every write deletes some, too. */
  start(): void {
    this.#cancelPrune = this.#options.clock.after(PRUNE_MS, () => {
      void this.#flush(true)
      this.start()
    })
  }

  /** Writes the waiting entries. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelPrune?.()
    await this.#flush()
  }

  /** Resolves when the entry is durable, when its write has failed, or after two seconds. Never throws. */
  async record(action: AuditedAction): Promise<void> {
    const entry = this.#groups.keyed(entryOf(action, this.#options.clock.now()))
    this.#keep(entry)
    if (entry.more > 0) return this.#schedule()
    const waited = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(WAIT_MS, () => waited.resolve())
    await Promise.race([this.#flush(), waited.promise])
    cancel()
  }

  /** Returns entries within the retention, newest first. */
  list(filter: AuditFilter, request: PageRequest): Promise<Page<AuditRow>> {
    return this.#options.store.list({ ...filter, from: Math.max(filter.from, this.#oldest()) }, request)
  }

  #keep(entry: NewAuditEntry): void {
    const waiting = this.#pending.get(entry.key)
    if (waiting !== undefined) {
      const times = waiting.times + entry.times
      this.#pending.set(entry.key, { ...waiting, times, more: times, lastAt: entry.lastAt })
    } else if (this.#pending.size < MOST_PENDING) {
      this.#pending.set(entry.key, entry)
    } else {
      const { key: _, more: __, ...lost } = entry
      this.#options.logger.error({ lost }, 'the audit log has lost an entry: too many wait for the catalogue')
    }
  }

  #schedule(): void {
    if (!this.#isStopping) this.#cancelFlush ??= this.#options.clock.after(FLUSH_MS, () => void this.#flush())
  }

  /** Writes the entries that wait when the write in progress has ended. Calls until then share one write. */
  #flush(isPruning = false): Promise<void> {
    this.#cancelFlush?.()
    this.#cancelFlush = null
    if (this.#next !== null) return this.#next
    this.#next = this.#writing.then(() => {
      this.#next = null
      return this.#writePending(isPruning)
    })
    this.#writing = this.#next
    return this.#next
  }

  async #writePending(isPruning = false): Promise<void> {
    const { store, logger, retention } = this.#options
    const entries = [...this.#pending.values()].slice(0, ENTRIES_AT_ONCE)
    if (entries.length === 0 && !isPruning) return
    for (const { key } of entries) this.#pending.delete(key)
    const isDurable = entries.some(({ more }) => more === 0)
    try {
      await store.add(entries, { oldest: this.#oldest(), mostEntries: retention.maxEntries }, isDurable)
    } catch (err) {
      const unwritten = entries.filter(entry => entry.more === 0 && !this.#logged.has(entry))
      for (const entry of unwritten) this.#logged.add(entry)
      logger.error({ err, unwritten }, 'the audit log cannot be written now; entries wait in memory')
      // The count of a shared entry must not grow twice. An entry of its own may be written again.
      const isUnknown = isHoldfastError(err, 'OUTCOME_UNKNOWN')
      for (const entry of entries) if (!(isUnknown && entry.more > 0)) this.#keep(entry)
      if (this.#pending.size > 0) this.#schedule()
      return
    }
    if (this.#pending.size > 0) await this.#writePending()
  }

  #oldest(): number {
    return this.#options.clock.now() - this.#options.retention.keepDays * DAY_MS
  }
}

function entryOf(
  { action, outcome, account, credential, address, subject }: AuditedAction,
  now: number,
): Omit<NewAuditEntry, 'key' | 'more'> {
  // Someone who names an account, but does not prove to be its user, is a stranger.
  const isStranger = account === null || (credential === null && outcome !== 'ok')
  const known = account?.role === 'owner' ? 'owner' : 'account'
  const from = address === undefined ? null : isStranger ? clientOf(address) : address
  return {
    createdAt: now,
    lastAt: now,
    times: 1,
    actor: isStranger ? 'stranger' : known,
    accountId: account?.id ?? null,
    credential: credential?.kind ?? null,
    credentialId: credential?.id ?? null,
    address: from,
    action,
    outcome,
    subject: subject === null ? null : subject.slice(0, LONGEST_SUBJECT).toWellFormed(),
  }
}
