import { LRUCache } from 'lru-cache'
import { atMost } from '../../domain/lru.ts'
import type { NewAuditEntry } from './audit-store.ts'

const HOUR_MS = 3_600_000
/** Entries of one account and one hour with a row of their own. The others of the hour share rows. */
const OWN_ROWS = 100
/** Rows of strangers in one hour. The actions of further strangers share rows without an address. */
const STRANGERS = 1_000
const ACCOUNTS = 50_000

type Entry = Omit<NewAuditEntry, 'key' | 'more'>

/**
 * Decides which entries share a row. Only owners have a row for each action. A stranger has one row per hour, action,
 * outcome, address and named account, so failures cannot fill the disk or evict other entries.
 */
export class AuditGroups {
  #hour = 0
  readonly #ownRows = new LRUCache<string, number>(atMost(ACCOUNTS))
  readonly #strangers = new Set<string>()

  keyed(entry: Entry): NewAuditEntry {
    this.#startHour(Math.floor(entry.createdAt / HOUR_MS))
    if (entry.actor === 'stranger') return this.#ofStranger(entry)
    if (entry.actor === 'account' && !this.#hasOwnRow(entry.accountId ?? '')) return this.#shared(entry)
    return { ...entry, key: crypto.randomUUID(), more: 0 }
  }

  #startHour(hour: number): void {
    if (hour === this.#hour) return
    this.#hour = hour
    this.#ownRows.clear()
    this.#strangers.clear()
  }

  #hasOwnRow(accountId: string): boolean {
    const used = this.#ownRows.get(accountId) ?? 0
    if (used >= OWN_ROWS) return false
    this.#ownRows.set(accountId, used + 1)
    return true
  }

  #ofStranger(entry: Entry): NewAuditEntry {
    const apart = this.#shared(entry, `${entry.address ?? ''} ${entry.accountId ?? ''}`)
    if (this.#strangers.has(apart.key)) return apart
    if (this.#strangers.size >= STRANGERS) return this.#shared({ ...entry, address: null, accountId: null })
    this.#strangers.add(apart.key)
    return apart
  }

  /** @param owner the account that has the row, or the address and named account of a stranger */
  #shared(entry: Entry, owner = entry.accountId ?? ''): NewAuditEntry {
    const { actor, action, outcome } = entry
    const alone = actor === 'stranger' ? {} : { credential: null, credentialId: null, address: null }
    const key = `${this.#hour} ${actor} ${action} ${outcome} ${owner}`
    return { ...entry, ...alone, subject: null, key, more: entry.times }
  }
}
