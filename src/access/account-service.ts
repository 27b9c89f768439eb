import type { AccountChanges, AccountStore } from '../catalogue/accounts.ts'
import type { Page } from '../catalogue/page.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
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
  store: AccountStore
  hasher: PasswordHasher
  plans: PlanCatalogue
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
  /** Called when an account has been marked deleted, to have what it had removed. */
  onDeleted?: () => void
}

/** The address of the first owner, kept free for it. */
const OWNER_EMAIL = 'owner@localhost'
const MAX_EMAIL = 254
const MAX_NAME = 255
const ROWS_AT_ONCE = 1_000

/** Accounts: who may sign in and have keys, and on which plan. Every change is durable when its promise resolves. */
export class AccountService {
  readonly #store: AccountStore
  readonly #hasher: PasswordHasher
  readonly #plans: PlanCatalogue
  readonly #cache: CredentialCache
  readonly #clock: Clock
  readonly #random: RandomBytes
  readonly #onDeleted: () => void

  constructor(options: AccountServiceOptions) {
    this.#store = options.store
    this.#hasher = options.hasher
    this.#plans = options.plans
    this.#cache = options.cache
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
    this.#onDeleted = options.onDeleted ?? (() => undefined)
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
    checkUnreserved(account.email, account.role)
    const passwordHash = input.password === undefined ? null : await this.#hash(input.password, 'password')
    const outcome = await this.#store.insert(account, passwordHash)
    if (outcome === 'email_taken') throw emailTaken(account.email)
    return account
  }

  /** The first owner: the one who runs the node. Created on the plan `unlimited` if there is none yet. */
  async ensureOwner(): Promise<{ account: Account; created: boolean }> {
    const owner = await this.#store.findOwner()
    if (owner !== null) return { account: owner, created: false }
    return { account: await this.create({ email: OWNER_EMAIL, plan: 'unlimited', role: 'owner' }), created: true }
  }

  /** @throws HoldfastError `NOT_FOUND`. */
  async get(id: string): Promise<Account> {
    const account = await this.#store.get(id)
    if (account === null) throw notFound(id)
    return account
  }

  /** By id, or by email in upper or lower case. Undefined if there is none. */
  async find(idOrEmail: string): Promise<Account | undefined> {
    const account = (await this.#store.get(idOrEmail)) ?? (await this.#store.findByEmail(idOrEmail.trim()))
    return account ?? undefined
  }

  /** All of them, oldest first. Where there may be many, {@link pages} does not have them in memory at once. */
  async list(): Promise<Account[]> {
    const accounts: Account[] = []
    for await (const page of this.pages()) accounts.push(...page)
    return accounts
  }

  /** All of them, oldest first, a thousand at a time. */
  async *pages(): AsyncGenerator<Account[]> {
    let after: string | null = null
    do {
      const page: Page<Account> = await this.#store.list({ after, limit: ROWS_AT_ONCE })
      if (page.rows.length > 0) yield page.rows
      after = page.next
    } while (after !== null)
  }

  /** Some of the list, and how many accounts there are. */
  async page(offset: number, limit: number): Promise<{ accounts: Account[]; total: number }> {
    const { rows, total } = await this.#store.slice(offset, limit)
    return { accounts: rows, total }
  }

  /** @throws HoldfastError `VALIDATION` for an unknown plan, `NOT_FOUND` for an unknown id. */
  async setPlan(id: string, plan: string): Promise<Account> {
    this.#plans.check(plan)
    return this.#change(id, { plan })
  }

  /**
   * Sets where requests go that name no cluster; null for the engine's default.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` for a cluster that the account's plan does not allow, `NOT_FOUND`.
   */
  async setDefaultCluster(id: string, cluster: string | null): Promise<Account> {
    const { clusters } = this.#plans.get((await this.get(id)).plan)
    if (cluster !== null && clusters !== '*' && !clusters.includes(cluster)) {
      throw new HoldfastError('CLUSTER_NOT_ALLOWED', `cluster ${cluster} is not available to this account`)
    }
    return this.#change(id, { defaultCluster: cluster })
  }

  /**
   * A disabled account keeps its content; its keys and sessions are refused with `account_disabled` from then on.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner that is not disabled.
   */
  async setDisabled(id: string, disabled: boolean): Promise<Account> {
    return this.#change(id, { disabled })
  }

  /**
   * Deletes an account. It cannot be used any more when this resolves, and its email is free; keys, sessions and pins are
   * removed in the background, by an engine on the data directory, and after a restart at the latest.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner that is not disabled.
   */
  async delete(id: string): Promise<void> {
    const outcome = await this.#store.markDeleted(id, this.#clock.now())
    this.#cache.clear()
    if (outcome === 'no_account') throw notFound(id)
    if (outcome === 'last_owner') throw lastOwner()
    this.#onDeleted()
  }

  /**
   * Changes what is given of an account's email and name; an empty name is none.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `CONFLICT` if the email is taken, `NOT_FOUND`.
   */
  async setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account> {
    const email = changes.email === undefined ? undefined : parseEmail(changes.email)
    const name = changes.name === undefined ? undefined : parseDisplayName(changes.name)
    if (email !== undefined) checkUnreserved(email, (await this.get(id)).role)
    return this.#change(id, { ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) })
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
    const isThere = await this.#store.setPassword(id, hash, keep)
    this.#cache.clear()
    if (!isThere) throw notFound(id)
  }

  async #hash(password: string, field: string): Promise<string> {
    checkNewPassword(password, field)
    return this.#hasher.hash(password)
  }

  async #change(id: string, changes: AccountChanges): Promise<Account> {
    const outcome = await this.#store.change(id, changes)
    this.#cache.clear()
    if (outcome === 'no_account') throw notFound(id)
    if (outcome === 'email_taken') throw emailTaken(changes.email ?? '')
    if (outcome === 'last_owner') throw lastOwner()
    return outcome
  }
}

/** @throws HoldfastError `CONFLICT` for the address that is kept for the first owner. */
function checkUnreserved(email: string, role: Account['role']): void {
  if (role !== 'owner' && email.toLowerCase() === OWNER_EMAIL) throw emailTaken(email)
}

function emailTaken(email: string): HoldfastError {
  return new HoldfastError('CONFLICT', `email: there is already an account for ${email}`)
}

function lastOwner(): HoldfastError {
  return new HoldfastError('CONFLICT', 'this is the last owner of the node: make another account an owner first')
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
