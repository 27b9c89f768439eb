import type { Database, Statement } from '../../storage/database.ts'

export interface AccountRow {
  id: string
  email: string
  name: string | null
  plan: string
  role: 'owner' | 'user'
  defaultCluster: string | null
  disabled: boolean
  createdAt: number
}

type RawRow = Omit<AccountRow, 'disabled'> & { disabled: number }
type Values = [string, string, string | null, string, string, string | null, number, number]

const COLUMNS = 'id, email, name, plan, role, default_cluster AS defaultCluster, disabled, created_at AS createdAt'

/** The rows of `accounts`, but for the counters of pins and bytes, which belong to what they count. */
export class AccountTable {
  readonly #insert: Statement<Values, unknown>
  readonly #get: Statement<[string], RawRow>
  readonly #findByEmail: Statement<[string], RawRow>
  readonly #findOwner: Statement<[], RawRow>
  readonly #list: Statement<[], RawRow>
  readonly #page: Statement<[number, number], RawRow>
  readonly #count: Statement<[], { count: number }>
  readonly #setPlan: Statement<[string, string], unknown>
  readonly #setDefaultCluster: Statement<[string | null, string], unknown>
  readonly #setDisabled: Statement<[number, string], unknown>
  readonly #setProfile: Statement<[string, string | null, string], unknown>
  readonly #passwordHash: Statement<[string], { passwordHash: string | null }>
  readonly #setPasswordHash: Statement<[string, string], unknown>
  readonly #replacePasswordHash: Statement<[string, string, string], unknown>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO accounts (id, email, name, plan, role, default_cluster, disabled, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM accounts WHERE id = ?`)
    this.#findByEmail = db.prepare(`SELECT ${COLUMNS} FROM accounts WHERE email = ?`)
    this.#findOwner = db.prepare(
      `SELECT ${COLUMNS} FROM accounts WHERE role = 'owner' ORDER BY created_at, rowid LIMIT 1`,
    )
    this.#list = db.prepare(`SELECT ${COLUMNS} FROM accounts ORDER BY created_at, rowid`)
    this.#page = db.prepare(`SELECT ${COLUMNS} FROM accounts ORDER BY created_at, rowid LIMIT ? OFFSET ?`)
    this.#count = db.prepare('SELECT COUNT(*) AS count FROM accounts')
    this.#setPlan = db.prepare('UPDATE accounts SET plan = ? WHERE id = ?')
    this.#setDefaultCluster = db.prepare('UPDATE accounts SET default_cluster = ? WHERE id = ?')
    this.#setDisabled = db.prepare('UPDATE accounts SET disabled = ? WHERE id = ?')
    this.#setProfile = db.prepare('UPDATE accounts SET email = ?, name = ? WHERE id = ?')
    this.#passwordHash = db.prepare('SELECT password_hash AS passwordHash FROM accounts WHERE id = ?')
    this.#setPasswordHash = db.prepare('UPDATE accounts SET password_hash = ? WHERE id = ?')
    this.#replacePasswordHash = db.prepare('UPDATE accounts SET password_hash = ? WHERE id = ? AND password_hash = ?')
  }

  insert(row: AccountRow): void {
    const { id, email, name, plan, role, defaultCluster, disabled, createdAt } = row
    this.#insert.run(id, email, name, plan, role, defaultCluster, disabled ? 1 : 0, createdAt)
  }

  get(id: string): AccountRow | undefined {
    return toRow(this.#get.get(id))
  }

  /** Upper and lower case are the same. */
  findByEmail(email: string): AccountRow | undefined {
    return toRow(this.#findByEmail.get(email))
  }

  /** The first owner there is. */
  findOwner(): AccountRow | undefined {
    return toRow(this.#findOwner.get())
  }

  /** Oldest first. */
  list(): AccountRow[] {
    return this.#list.all().map(row => ({ ...row, disabled: row.disabled !== 0 }))
  }

  /** A slice of the list. */
  page(offset: number, limit: number): AccountRow[] {
    return this.#page.all(limit, offset).map(row => ({ ...row, disabled: row.disabled !== 0 }))
  }

  count(): number {
    return this.#count.get()?.count ?? 0
  }

  /** Like the other setters, returns whether there is such an account. */
  setPlan(id: string, plan: string): boolean {
    return this.#setPlan.run(plan, id).changes > 0
  }

  setDefaultCluster(id: string, cluster: string | null): boolean {
    return this.#setDefaultCluster.run(cluster, id).changes > 0
  }

  setDisabled(id: string, disabled: boolean): boolean {
    return this.#setDisabled.run(disabled ? 1 : 0, id).changes > 0
  }

  setProfile(id: string, { email, name }: Pick<AccountRow, 'email' | 'name'>): boolean {
    return this.#setProfile.run(email, name, id).changes > 0
  }

  setPasswordHash(id: string, hash: string): boolean {
    return this.#setPasswordHash.run(hash, id).changes > 0
  }

  /** Only while it is still `former`. Returns whether it was. */
  replacePasswordHash(id: string, former: string, hash: string): boolean {
    return this.#replacePasswordHash.run(hash, id, former).changes > 0
  }

  /** Kept out of the rows, which are passed around. Null without a password. */
  passwordHash(id: string): string | null {
    return this.#passwordHash.get(id)?.passwordHash ?? null
  }
}

function toRow(raw: RawRow | undefined): AccountRow | undefined {
  return raw === undefined ? undefined : { ...raw, disabled: raw.disabled !== 0 }
}
