import type { AccountStore } from '../../catalogue/account-store.ts'
import {
  consoleKeyName,
  type KeyRefusal,
  type KeyRow,
  type KeyStore,
  MOST_CONSOLE_KEYS,
  type NewKeyRow,
} from '../../catalogue/key-store.ts'
import type { Page } from '../../catalogue/page.ts'
import { checkChosenSecret } from '../../domain/chosen-secret.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { CredentialCache } from '../credentials/credential-cache.ts'
import { isLive } from '../credentials/credential-verifier.ts'
import { AddressList } from '../limits/network-address.ts'
import { checkCluster, checkTimelock, type PlanCatalogue } from '../plan-catalogue.ts'
import { CONTRACT_SCOPES, type Principal, SCOPES } from '../principal.ts'
import type { ScopePolicy } from '../scope-policy.ts'
import type { SecondFactor } from '../sign-in/second-factor-check.ts'
import { type ApiKey, toApiKey } from './api-key.ts'
import { generateSecret, hashSecret, type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'
import { type KeyInput, type ParsedKey, parseKeyInput } from './key-input.ts'
import type { Keys, NewKey } from './keys.ts'

export interface KeyServiceOptions {
  store: KeyStore
  accounts: Pick<AccountStore, 'get'>
  plans: PlanCatalogue
  /** Ids of the configured clusters. */
  clusters: readonly string[]
  scopes: ScopePolicy
  secondFactor: SecondFactor
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

type Confirm = (principal: Principal) => Promise<void>

const MOST_UPLOAD_TOKENS = 1_000
/** Lifetime of a key that keeps a sign-in at the console. */
const CONSOLE_MS = 12 * 60 * 60 * 1_000
/** With the id of a key of at most 24 digits, the name stays within 64 characters. */
const CONSOLE_NAME_BYTES = 8
const PAGE_ROWS = 1_000

export class KeyService implements Keys {
  readonly #options: KeyServiceOptions
  readonly #random: RandomBytes

  constructor(options: KeyServiceOptions) {
    this.#options = options
    this.#random = options.random ?? systemRandom
  }

  /**
   * Creates a key as {@link Keys.generate} does. With `confirm`, a key that keeps a sign-in may also create keys.
   * @param confirm asks the caller for a proof. An upload token needs none
   */
  async generate(principal: Principal, input: KeyInput, code?: string, confirm?: Confirm): Promise<NewKey> {
    const { account } = principal
    if (confirm === undefined) this.#options.scopes.checkMayMint(principal)
    else this.#options.scopes.checkNoUploadToken(principal)
    const wish = parseKeyInput(input, this.#options.clock.now())
    this.#checkGrant(wish.upload, account.plan)
    this.#options.scopes.check(principal, ...wish.scopes)
    if (wish.upload === null) await confirm?.(principal)
    const parent = await this.#minter(principal)
    const confined = confine(wish, parent)
    // Check the name first, because a check of the code uses up the code. The insert checks the name again.
    await this.#checkFree(account.id, wish.name)
    await this.#options.secondFactor.check(account.id, code)
    return this.#insert(account, confined, parent?.id ?? null)
  }

  /**
   * Creates a key that keeps the sign-in of one tab of the console over a reload. It has the scopes and addresses of
   * the caller's key, and ends after twelve hours.
   * @throws HoldfastError `CONFLICT` for a session; `missing_scope` for a key that may create none; `2fa_required` for
   * an account with a second factor; `QUOTA_EXCEEDED` if the key already keeps {@link MOST_CONSOLE_KEYS} tabs
   */
  async generateForConsole(principal: Principal): Promise<NewKey> {
    const { account, credential } = principal
    const { id, kind, name, scopes, expiresAt } = credential
    this.#options.scopes.checkMayMint(principal)
    if (kind === 'session') throw new HoldfastError('CONFLICT', 'a session needs no key to be kept')
    await this.#options.secondFactor.check(account.id, undefined)
    const own = await this.#find(account.id, name ?? '')
    const latest = this.#options.clock.now() + CONSOLE_MS
    const wish: ParsedKey = {
      name: consoleKeyName(id, randomId(this.#random, CONSOLE_NAME_BYTES)),
      scopes: [...scopes],
      expiresAt: Math.min(expiresAt ?? latest, latest),
      ipAllowlist: own.ipAllowlist,
      label: 'signed in at the console',
      upload: null,
    }
    return this.#insert(account, wish, id, MOST_CONSOLE_KEYS)
  }

  async create(accountId: string, input: KeyInput): Promise<NewKey> {
    const wish = parseKeyInput(input, this.#options.clock.now())
    const account = await this.#options.accounts.get(accountId)
    if (account === null) throw noAccount(accountId)
    this.#checkGrant(wish.upload, account.plan)
    return this.#insert(account, wish, null)
  }

  async adopt(accountId: string, name: string, secret: string): Promise<ApiKey> {
    checkChosenSecret(secret)
    const now = this.#options.clock.now()
    const wish = parseKeyInput({ name, scopes: SCOPES }, now)
    const row: NewKeyRow = {
      ...wish,
      id: randomId(this.#random),
      accountId,
      parentId: null,
      hash: hashSecret(secret),
      // Do not store the first characters of a secret that the operator chose. They could reveal the secret.
      prefix: '',
      createdAt: now,
      lastUsedAt: null,
    }
    const adopted = await this.#options.store.adopt(row)
    this.#options.cache.clear()
    if (adopted.accountId === accountId && isUnrestricted(adopted)) return toApiKey(adopted)
    throw new HoldfastError('CONFLICT', 'another key already has this secret: choose another secret')
  }

  async list(accountId: string, { isUpload = false } = {}): Promise<ApiKey[]> {
    const { rows } = await this.#options.store.list(accountId, { after: null, limit: PAGE_ROWS, isUpload })
    return rows.map(toApiKey)
  }

  async *pages(accountId: string): AsyncGenerator<ApiKey[]> {
    let after: string | null = null
    do {
      const page: Page<KeyRow> = await this.#options.store.list(accountId, { after, limit: PAGE_ROWS })
      if (page.rows.length > 0) yield page.rows.map(toApiKey)
      after = page.next
    } while (after !== null)
  }

  /** Revokes the key of the caller if it keeps a sign-in at the console. Otherwise returns false. */
  async endConsole({ credential }: Principal): Promise<boolean> {
    const { id, name, consoleOf } = credential
    if (consoleOf === undefined) return false
    await this.#delete({ id, name: name ?? '' })
    return true
  }

  /**
   * Revokes all keys that keep a sign-in with the key of the caller, who may use one of them. Returns their number.
   * @throws HoldfastError `CONFLICT` for a session, `missing_scope` for an upload token
   */
  async endAllConsoles(principal: Principal): Promise<number> {
    const { account, credential } = principal
    this.#options.scopes.checkNoUploadToken(principal)
    if (credential.kind === 'session') throw new HoldfastError('CONFLICT', 'a session has no keys: end the sessions')
    const ended = await this.#options.store.revokeConsole(account.id, credential.consoleOf ?? credential.id)
    this.#options.cache.clear()
    return ended
  }

  async revoke(principal: Principal, name: string, code?: string): Promise<void> {
    const { account, credential } = principal
    this.#options.scopes.checkNoUploadToken(principal)
    const key = toApiKey(await this.#find(account.id, name))
    if (credential.kind === 'key' && credential.id !== key.id) this.#options.scopes.check(principal, ...key.scopes)
    await this.#options.secondFactor.check(account.id, code)
    await this.#delete(key)
  }

  async revokeByName(accountId: string, name: string): Promise<void> {
    await this.#delete(await this.#find(accountId, name))
  }

  /**
   * Returns the key that creates a key for the caller, or null for a session. A key that keeps a sign-in ends at the
   * sign-out, and would end the keys that it creates.
   */
  async #minter({ account, credential }: Principal): Promise<KeyRow | null> {
    if (credential.kind === 'session') return null
    const own = await this.#options.store.findByName(account.id, credential.name ?? '')
    const name = credential.consoleOf === undefined ? null : (own?.parent ?? '')
    const minter = name === null ? own : await this.#options.store.findByName(account.id, name)
    if (minter === null) throw revokedKey()
    return minter
  }

  /** @param mostForConsole given for a key that keeps a sign-in */
  async #insert(
    account: { id: string; plan: string },
    wish: ParsedKey,
    parentId: string | null,
    mostForConsole?: number,
  ): Promise<NewKey> {
    const { secret, id, prefix } = generateSecret(this.#random)
    const now = this.#options.clock.now()
    const mostKeys = wish.upload === null ? this.#options.plans.get(account.plan).maxKeys : MOST_UPLOAD_TOKENS
    const maxKeys = mostForConsole ?? mostKeys
    const made = { id, accountId: account.id, parentId, hash: hashSecret(secret), prefix }
    const outcome = await this.#options.store.insert(
      { ...wish, ...made, createdAt: now, lastUsedAt: null },
      { now, maxKeys },
    )
    this.#options.cache.clear()
    if (outcome === 'too_many' && mostForConsole !== undefined) {
      const message = `${mostForConsole} tabs are signed in with this key: end them by DELETE /tokens/console, or sign one out`
      throw new HoldfastError('QUOTA_EXCEEDED', message)
    }
    if (outcome !== 'inserted') throw refusal(outcome, account.id, wish, maxKeys)
    return { secret, key: toApiKey(await this.#find(account.id, wish.name)) }
  }

  /** Refuses an upload token none of whose uploads the plan would allow. */
  #checkGrant(grant: ParsedKey['upload'], planName: string): void {
    const plan = this.#options.plans.get(planName)
    const { cluster = null, timelock = null } = grant ?? {}
    if (cluster !== null) checkCluster(cluster, plan, this.#options.clusters)
    if (timelock !== null) checkTimelock(timelock, plan, this.#options.clock.now())
  }

  async #checkFree(accountId: string, name: string): Promise<void> {
    const former = await this.#options.store.findByName(accountId, name)
    if (former !== null && isLive(former, this.#options.clock.now())) throw nameTaken(name)
  }

  async #find(accountId: string, name: string): Promise<KeyRow> {
    const row = await this.#options.store.findByName(accountId, name)
    if (row === null) throw noKey(name)
    return row
  }

  async #delete({ id, name }: { id: string; name: string }): Promise<void> {
    const revoked = await this.#options.store.revoke(id)
    this.#options.cache.clear()
    if (revoked === 0) throw noKey(name)
  }
}

/** @throws HoldfastError `VALIDATION`, `IP_NOT_ALLOWED` if a key is to outlive its parent, or to have more addresses */
function confine(wish: ParsedKey, parent: KeyRow | null): ParsedKey {
  if (parent === null) return wish
  const { expiresAt, ipAllowlist: own } = parent
  if (expiresAt !== null && (wish.expiresAt === null || wish.expiresAt > expiresAt)) {
    const limit = new Date(expiresAt).toISOString()
    throw new HoldfastError(
      'VALIDATION',
      `${wish.upload === null ? 'expiresInDays' : 'expiresInSeconds'} must end by ${limit}, when the key in use expires`,
    )
  }
  if (own.length === 0) return wish
  if (wish.ipAllowlist.length === 0) return { ...wish, ipAllowlist: own }
  if (!new AddressList(own).covers(new AddressList(wish.ipAllowlist))) {
    throw new HoldfastError('IP_NOT_ALLOWED', 'ipAllowlist must stay within the addresses of the key in use')
  }
  return wish
}

function refusal(
  why: KeyRefusal,
  accountId: string,
  { name, upload }: ParsedKey,
  maxKeys: number | null,
): HoldfastError {
  if (why === 'no_account') return noAccount(accountId)
  if (why === 'name_taken') return nameTaken(name)
  if (why === 'no_parent') return revokedKey()
  if (upload !== null) {
    const message = `the account already has ${maxKeys} live upload tokens: revoke one`
    return new HoldfastError('QUOTA_EXCEEDED', message)
  }
  return new HoldfastError('QUOTA_EXCEEDED', `the plan allows ${maxKeys} live API keys: revoke one`)
}

function noAccount(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no account ${id}`)
}

function revokedKey(): HoldfastError {
  return new HoldfastError('INVALID_API_KEY', 'the API key in use has been revoked')
}

function noKey(name: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no API key ${JSON.stringify(name)}`)
}

function nameTaken(name: string): HoldfastError {
  return new HoldfastError('CONFLICT', `name ${name} is in use by another key: choose another, or revoke that key`)
}

function isUnrestricted(key: KeyRow): boolean {
  return (
    key.expiresAt === null && key.ipAllowlist.length === 0 && CONTRACT_SCOPES.every(scope => key.scopes.includes(scope))
  )
}
