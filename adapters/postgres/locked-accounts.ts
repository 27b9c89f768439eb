import type { AccountUsage } from '../../src/catalogue/records.ts'
import { run } from '../../src/catalogue/rules/driver.ts'
import { usageOf } from '../../src/catalogue/rules/record-rules.ts'
import { accountUsage, COUNT } from '../../src/catalogue/rules/record-statements.ts'
import { selectList } from '../../src/catalogue/rules/statement.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { runRule } from './postgres-driver.ts'
import type { Sql } from './sql.ts'

interface Counted extends AccountUsage {
  id: string
  /** The `seq` of the account. The search words of its records begin with this number. */
  list: number
}

/** Accounts whose rows stay locked until the transaction ends. The lock keeps the counters exact. */
export class LockedAccounts {
  readonly #sql: Sql
  readonly #accounts: Map<string, Counted>
  readonly #changes = new Map<string, AccountUsage>()

  private constructor(sql: Sql, accounts: readonly Counted[]) {
    this.#sql = sql
    this.#accounts = new Map(accounts.map(account => [account.id, account]))
  }

  /** Locks the rows in the order of their ids, to avoid deadlocks. */
  static async lock(sql: Sql, ids: readonly string[]): Promise<LockedAccounts> {
    const accounts = await sql.all<Counted>(
      `SELECT id, seq AS list, ${selectList(accountUsage).postgres} FROM accounts WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
      [[...new Set(ids)]],
    )
    return new LockedAccounts(sql, accounts)
  }

  /** @throws HoldfastError `NOT_FOUND` if the account was deleted before its content arrived */
  listOf(id: string): number {
    const account = this.#accounts.get(id)
    if (account === undefined) throw new HoldfastError('NOT_FOUND', `there is no account ${id}`)
    return account.list
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
    for (const [id, { pins, expiringPins, storedBytes }] of this.#changes) {
      if (pins === 0 && expiringPins === 0 && storedBytes === 0) continue
      await runRule(run(COUNT, { accountId: id, pins, expiringPins, storedBytes }), this.#sql)
    }
    this.#changes.clear()
  }
}

function add(to: AccountUsage, change: AccountUsage): void {
  to.pins += change.pins
  to.expiringPins += change.expiringPins
  to.storedBytes += change.storedBytes
}
