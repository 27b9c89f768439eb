import type { AccountChanges, AccountStore } from '../../catalogue/account-store.ts'
import type { Page } from '../../catalogue/page.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkedVisibility, type Visibility } from '../../domain/visibility.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { hashSecret, ownerNumber, type RandomBytes, randomId, systemRandom } from '../keys/api-key-secret.ts'
import { checkCluster, type PlanCatalogue } from '../plan-catalogue.ts'
import type { Account } from '../principal.ts'
import type { Accounts, NewAccount, PasswordLink } from './accounts.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { checkNewPassword } from './password-rules.ts'

export interface AccountServiceOptions {
  store: AccountStore
  hasher: PasswordHasher
  plans: PlanCatalogue
  /** Ids of the configured clusters. */
  clusters: readonly string[]
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

/** No other account may use this email. */
const OWNER_EMAIL = 'owner@localhost'
const MAX_EMAIL = 254
const MAX_NAME = 255
const ROWS_AT_ONCE = 1_000
/** As long as a subject of OpenID Connect may be. */
const LONGEST_SUBJECT = 255
const LINK_MS = 24 * 60 * 60 * 1_000
const LINK_BYTES = 32

export class AccountService implements Accounts {
  readonly #options: AccountServiceOptions
  readonly #random: RandomBytes
  readonly #deletionListeners: Array<() => void> = []

  constructor(options: AccountServiceOptions) {
    this.#options = options
    this.#random = options.random ?? systemRandom
  }

  whenDeleted(listener: () => void): void {
    this.#deletionListeners.push(listener)
  }

  async create(input: NewAccount): Promise<Account> {
    const account: Account = {
      id: randomId(this.#random),
      email: parseEmail(input.email),
      name: parseDisplayName(input.name),
      plan: input.plan,
      role: input.role ?? 'user',
      defaultCluster: null,
      disabled: false,
      createdAt: this.#options.clock.now(),
      owner: ownerNumber(this.#random),
      defaultVisibility: 'public',
    }
    this.#options.plans.check(account.plan)
    checkUnreserved(account.email, account.role)
    const passwordHash = input.password === undefined ? null : await this.#hash(input.password, 'password')
    const outcome = await this.#options.store.insert(account, passwordHash)
    if (outcome === 'email_taken') throw emailTaken(account.email)
    return account
  }

  async ensureOwner(): Promise<{ account: Account; created: boolean }> {
    const owner = await this.#options.store.findOwner()
    if (owner !== null) return { account: owner, created: false }
    try {
      return { account: await this.create({ email: OWNER_EMAIL, plan: 'unlimited', role: 'owner' }), created: true }
    } catch (error) {
      // Another call or another node may have created the owner meanwhile.
      const made = await this.#options.store.findOwner()
      if (made === null) throw error
      return { account: made, created: false }
    }
  }

  async get(id: string): Promise<Account> {
    const account = await this.#options.store.get(id)
    if (account === null) throw notFound(id)
    return account
  }

  async owned(id: string): Promise<Account> {
    const account = await this.get(id)
    if (account.owner !== null) return account
    // An account of an earlier version gets its number with its first upload or pin.
    await this.#options.store.giveOwner(id, ownerNumber(this.#random))
    return this.get(id)
  }

  async find(idOrEmail: string): Promise<Account | undefined> {
    const account =
      (await this.#options.store.get(idOrEmail)) ?? (await this.#options.store.findByEmail(idOrEmail.trim()))
    return account ?? undefined
  }

  async list(): Promise<Account[]> {
    const accounts: Account[] = []
    for await (const page of this.pages()) accounts.push(...page)
    return accounts
  }

  async *pages(): AsyncGenerator<Account[]> {
    let after: string | null = null
    do {
      const page: Page<Account> = await this.#options.store.list({ after, limit: ROWS_AT_ONCE })
      if (page.rows.length > 0) yield page.rows
      after = page.next
    } while (after !== null)
  }

  async page(offset: number, limit: number): Promise<{ accounts: Account[]; total: number }> {
    const { rows, total } = await this.#options.store.slice(offset, limit)
    return { accounts: rows, total }
  }

  async setPlan(id: string, plan: string): Promise<Account> {
    this.#options.plans.check(plan)
    return this.#change(id, { plan })
  }

  async setDefaultCluster(id: string, cluster: string | null): Promise<Account> {
    const { plans, clusters } = this.#options
    const plan = plans.get((await this.get(id)).plan)
    if (cluster !== null) checkCluster(cluster, plan, clusters)
    return this.#change(id, { defaultCluster: cluster })
  }

  async setDefaultVisibility(id: string, visibility: Visibility): Promise<Account> {
    return this.#change(id, { defaultVisibility: checkedVisibility(visibility) })
  }

  async setDisabled(id: string, disabled: boolean): Promise<Account> {
    return this.#change(id, { disabled })
  }

  async delete(id: string): Promise<void> {
    const outcome = await this.#options.store.markDeleted(id, this.#options.clock.now())
    this.#options.cache.clear()
    if (outcome === 'no_account') throw notFound(id)
    if (outcome === 'last_owner') throw lastOwner()
    for (const listener of this.#deletionListeners) listener()
  }

  async setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account> {
    const email = changes.email === undefined ? undefined : parseEmail(changes.email)
    const name = changes.name === undefined ? undefined : parseDisplayName(changes.name)
    if (email !== undefined) checkUnreserved(email, (await this.get(id)).role)
    return this.#change(id, { ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) })
  }

  async setPassword(
    id: string,
    password: string,
    { keep = null, field = 'password' }: { keep?: string | null; field?: string } = {},
  ): Promise<void> {
    const hash = await this.#hash(password, field)
    const exists = await this.#options.store.setPassword(id, hash, keep)
    this.#options.cache.clear()
    if (!exists) throw notFound(id)
  }

  async makePasswordLink(id: string): Promise<PasswordLink> {
    const token = randomId(this.#random, LINK_BYTES)
    const expiresAt = this.#options.clock.now() + LINK_MS
    const link = { accountId: id, hash: hashSecret(token), expiresAt }
    if (!(await this.#options.store.putPasswordLink(link))) throw notFound(id)
    return { token, expiresAt }
  }

  async setIdentity(id: string, identity: { issuer: string; subject: string }): Promise<Account> {
    const { issuer, subject } = identity
    if (!URL.canParse(issuer)) throw new HoldfastError('VALIDATION', 'issuer must be the URL of a sign-in provider')
    if (subject === '' || subject.length > LONGEST_SUBJECT) {
      throw new HoldfastError('VALIDATION', `subject must have 1 to ${LONGEST_SUBJECT} characters`)
    }
    const outcome = await this.#options.store.setIdentity(id, { issuer, subject })
    if (outcome === 'no_account') throw notFound(id)
    if (outcome === 'owner') throw new HoldfastError('CONFLICT', 'an owner signs in without a provider')
    if (outcome === 'taken') {
      throw new HoldfastError('CONFLICT', 'this user already signs in to another account: delete that account first')
    }
    return outcome
  }

  async #hash(password: string, field: string): Promise<string> {
    checkNewPassword(password, field)
    return this.#options.hasher.hash(password)
  }

  async #change(id: string, changes: AccountChanges): Promise<Account> {
    const outcome = await this.#options.store.change(id, changes)
    this.#options.cache.clear()
    if (outcome === 'no_account') throw notFound(id)
    if (outcome === 'email_taken') throw emailTaken(changes.email ?? '')
    if (outcome === 'last_owner') throw lastOwner()
    return outcome
  }
}

function checkUnreserved(email: string, role: Account['role']): void {
  if (role !== 'owner' && email.toLowerCase() === OWNER_EMAIL) throw emailTaken(email)
}

function emailTaken(email: string): HoldfastError {
  return new HoldfastError('CONFLICT', `email ${email} is in use by another account: choose another`)
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

/** Returns an email that an account may have without a password. Null if it is malformed or reserved. */
export function providerEmail(given: string | null): string | null {
  try {
    const email = parseEmail(given ?? '')
    checkUnreserved(email, 'user')
    return email
  } catch {
    return null
  }
}

function parseDisplayName(value: string | null | undefined): string | null {
  const name = value?.trim() ?? ''
  if (name.length > MAX_NAME || /\p{Cc}/u.test(name)) {
    throw new HoldfastError('VALIDATION', `name must have at most ${MAX_NAME} characters and no control characters`)
  }
  return name === '' ? null : name
}

function notFound(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no account ${id}`)
}
