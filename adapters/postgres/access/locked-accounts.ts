import type { AccountUsage } from '../../../src/catalogue/records.ts'
import { usageOf } from '../../../src/catalogue/rules/record-rules.ts'
import { accountUsage } from '../../../src/catalogue/rules/record-statements.ts'
import { selectList } from '../../../src/catalogue/rules/statement.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'

interface Counted extends AccountUsage {
  id: string
  /** The `seq` of the account. The search words of its records begin with this number. */
  list: number
}

const NONE: AccountUsage = { pins: 0, expiringPins: 0, storedBytes: 0 }
const LOCK = `
  SELECT id, seq AS list, ${selectList(accountUsage).postgres} FROM accounts WHERE id = ANY($1) ORDER BY id FOR UPDATE`
const COUNT = `
  UPDATE accounts AS a SET pins = a.pins + change.pins, expiring_pins = a.expiring_pins + change.expiring_pins,
    stored_bytes = a.stored_bytes + change.stored_bytes
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS change (id, pins, expiring_pins, stored_bytes)
  WHERE a.id = change.id`

/** Accounts whose rows stay locked until the transaction ends. The lock keeps the counters exact. */
export class LockedAccounts {
  readonly #sql: Sql
  readonly #accounts: Map<string, Counted>
  readonly #changes = new Map<string, AccountUsage>()

  private constructor(sql: Sql, accounts: readonly Counted[]) {
    this.#sql = sql
    this.#accounts = new Map(accounts.map(account => [account.id, account]))
  }

  /**
   * Locks the rows in the order of their ids, to avoid deadlocks.
   *
   * @param waits if false, leaves out the rows that another transaction has locked
   */
  static async lock(sql: Sql, ids: readonly string[], waits = true): Promise<LockedAccounts> {
    return new LockedAccounts(sql, await sql.all<Counted>(waits ? LOCK : `${LOCK} SKIP LOCKED`, [[...new Set(ids)]]))
  }

  has(id: string): boolean {
    return this.#accounts.has(id)
  }

  /** @throws HoldfastError `NOT_FOUND` if the account was deleted before its content arrived */
  listOf(id: string): number {
    const account = this.#accounts.get(id)
    if (account === undefined) throw new HoldfastError('NOT_FOUND', `there is no account ${id}`)
    return account.list
  }

  /** Returns the counters, which include expired records until they are removed. */
  counted(id: string): AccountUsage {
    return this.#accounts.get(id) ?? NONE
  }

  async usage(id: string, now: number): Promise<AccountUsage> {
    return runRule(usageOf(id, now, this.#accounts.get(id)), this.#sql)
  }

  count(id: string, change: AccountUsage): void {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    add(account, change)
    const changed = this.#changes.get(id) ?? { pins: 0, expiringPins: 0, storedBytes: 0 }
    add(changed, change)
    this.#changes.set(id, changed)
  }

  /** Writes the changed counters. Call this method last in the transaction. */
  async write(): Promise<void> {
    const changes = [...this.#changes].filter(([, { pins, expiringPins, storedBytes }]) => {
      return pins !== 0 || expiringPins !== 0 || storedBytes !== 0
    })
    this.#changes.clear()
    if (changes.length === 0) return
    await this.#sql.run(COUNT, [
      changes.map(([id]) => id),
      changes.map(([, { pins }]) => pins),
      changes.map(([, { expiringPins }]) => expiringPins),
      changes.map(([, { storedBytes }]) => storedBytes),
    ])
  }
}

function add(to: AccountUsage, change: AccountUsage): void {
  to.pins += change.pins
  to.expiringPins += change.expiringPins
  to.storedBytes += change.storedBytes
}
