import type { AccountTable } from '../catalogue/sqlite/account-table.ts'
import type { SessionTable } from '../catalogue/sqlite/session-table.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'
import type { CredentialCache } from './credential-cache.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { checkNewPassword } from './password-rules.ts'
import type { PlanCatalogue } from './plan-catalogue.ts'
import type { Account } from './principal.ts'

export interface NewAccount {
  email: string
  plan: string
  name?: string | null
  /** Without one there is no signing in, only keys. */
  password?: string
  /** Default `user`. */
  role?: Account['role']
}

export interface AccountServiceOptions {
  table: AccountTable
  sessions: SessionTable
  hasher: PasswordHasher
  writes: WriteQueue
  plans: PlanCatalogue
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

/** The address of the first owner, kept free for it. */
const OWNER_EMAIL = 'owner@localhost'
const MAX_EMAIL = 254
const MAX_NAME = 255

/** Accounts: who may sign in and have keys, and on which plan. Every change is durable when its promise resolves. */
export class AccountService {
  readonly #table: AccountTable
  readonly #sessions: SessionTable
  readonly #hasher: PasswordHasher
  readonly #writes: WriteQueue
  readonly #plans: PlanCatalogue
  readonly #cache: CredentialCache
  readonly #clock: Clock
  readonly #random: RandomBytes

  constructor(options: AccountServiceOptions) {
    this.#table = options.table
    this.#sessions = options.sessions
    this.#hasher = options.hasher
    this.#writes = options.writes
    this.#plans = options.plans
    this.#cache = options.cache
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
  }

  /**
   * @throws HoldfastError `VALIDATION` for an unknown plan, which names the known ones, or a malformed email,
   * name or password; `CONFLICT` if the email is taken, upper and lower case being the same.
   */
  async create(input: NewAccount): Promise<Account> {
    const account: Account = {
      id: randomId(this.#random),
      email: parseEmail(input.email),
      name: parseDisplayName(input.name),
      plan: input.plan,
      role: input.role ?? 'user',
      defaultCluster: null,
      disabled: false,
      createdAt: this.#clock.now(),
    }
    this.#plans.check(account.plan)
    const passwordHash = input.password === undefined ? null : await this.#hash(input.password, 'password')
    await this.#write(() => {
      this.#checkFree(account)
      this.#table.insert(account)
      if (passwordHash !== null) this.#table.setPasswordHash(account.id, passwordHash)
    })
    return account
  }

  /** The first owner: the one who runs the node. Created on the plan `unlimited` if there is none yet. */
  async ensureOwner(): Promise<{ account: Account; created: boolean }> {
    const owner = this.#table.findOwner()
    if (owner !== undefined) return { account: owner, created: false }
    return { account: await this.create({ email: OWNER_EMAIL, plan: 'unlimited', role: 'owner' }), created: true }
  }

  /** @throws HoldfastError `NOT_FOUND`. */
  get(id: string): Account {
    const account = this.#table.get(id)
    if (account === undefined) throw notFound(id)
    return account
  }

  /** By id, or by email in upper or lower case. Undefined if there is none. */
  find(idOrEmail: string): Account | undefined {
    return this.#table.get(idOrEmail) ?? this.#table.findByEmail(idOrEmail.trim())
  }

  /** Oldest first. */
  list(): Account[] {
    return this.#table.list()
  }

  /** Some of the list, and how many accounts there are. */
  page(offset: number, limit: number): { accounts: Account[]; total: number } {
    return { accounts: this.#table.page(offset, limit), total: this.#table.count() }
  }

  /** @throws HoldfastError `VALIDATION` for an unknown plan, `NOT_FOUND` for an unknown id. */
  async setPlan(id: string, plan: string): Promise<Account> {
    this.#plans.check(plan)
    return this.#change(id, () => this.#table.setPlan(id, plan))
  }

  /**
   * Sets where requests go that name no cluster; null for the engine's default.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` for a cluster that the account's plan does not allow, `NOT_FOUND`.
   */
  async setDefaultCluster(id: string, cluster: string | null): Promise<Account> {
    const { clusters } = this.#plans.get(this.get(id).plan)
    if (cluster !== null && clusters !== '*' && !clusters.includes(cluster)) {
      throw new HoldfastError('CLUSTER_NOT_ALLOWED', `cluster ${cluster} is not available to this account`)
    }
    return this.#change(id, () => this.#table.setDefaultCluster(id, cluster))
  }

  /** A disabled account keeps its content and is refused with `account_disabled`. @throws HoldfastError `NOT_FOUND`. */
  async setDisabled(id: string, disabled: boolean): Promise<Account> {
    return this.#change(id, () => this.#table.setDisabled(id, disabled))
  }

  /**
   * Changes what is given of an account's email and name; an empty name is none.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `CONFLICT` if the email is taken, `NOT_FOUND`.
   */
  async setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account> {
    const email = changes.email === undefined ? undefined : parseEmail(changes.email)
    const name = changes.name === undefined ? undefined : parseDisplayName(changes.name)
    return this.#change(id, () => {
      const before = this.get(id)
      const after = { ...before, email: email ?? before.email, name: name === undefined ? before.name : name }
      this.#checkFree(after)
      return this.#table.setProfile(id, after)
    })
  }

  /**
   * Gives an account a password, its first or another, and ends its sessions but the one with the id `keep`.
   *
   * @throws HoldfastError `VALIDATION` naming `field` for a password that will not do, `NOT_FOUND`.
   */
  async setPassword(
    id: string,
    password: string,
    { keep = null, field = 'password' }: { keep?: string | null; field?: string } = {},
  ): Promise<void> {
    const hash = await this.#hash(password, field)
    await this.#change(id, () => {
      this.#sessions.deleteOf(id, keep)
      return this.#table.setPasswordHash(id, hash)
    })
  }

  async #hash(password: string, field: string): Promise<string> {
    checkNewPassword(password, field)
    return this.#hasher.hash(password)
  }

  /** @throws HoldfastError `CONFLICT` if the account's email is another's or kept for the owner. */
  #checkFree({ id, email, role }: Account): void {
    const holder = this.#table.findByEmail(email)
    const reserved = role !== 'owner' && email.toLowerCase() === OWNER_EMAIL
    if (reserved || (holder !== undefined && holder.id !== id)) {
      throw new HoldfastError('CONFLICT', `email: there is already an account for ${email}`)
    }
  }

  async #change(id: string, update: () => boolean): Promise<Account> {
    await this.#write(() => {
      if (!update()) throw notFound(id)
    })
    return this.get(id)
  }

  async #write(work: () => void): Promise<void> {
    await this.#writes.run(work, { durable: true })
    this.#cache.clear()
  }
}

function parseEmail(value: string): string {
  const email = typeof value === 'string' ? value.trim() : ''
  const wellFormed = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email) && email.length <= MAX_EMAIL
  if (!wellFormed) throw new HoldfastError('VALIDATION', 'email must be an address such as someone@example.org')
  return email
}

function parseDisplayName(value: string | null | undefined): string | null {
  const name = value?.trim() ?? ''
  if (name.length > MAX_NAME || /\p{Cc}/u.test(name)) {
    throw new HoldfastError(
      'VALIDATION',
      `name must be at most ${MAX_NAME} characters, none of them a control character`,
    )
  }
  return name === '' ? null : name
}

function notFound(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no account ${id}`)
}
