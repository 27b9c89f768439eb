import type { AccountTable } from '../catalogue/sqlite/account-table.ts'
import type { KeyRow, KeyTable } from '../catalogue/sqlite/key-table.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type ApiKey, isLive, toApiKey } from './api-key.ts'
import { generateSecret, hashSecret, type RandomBytes, randomId, systemRandom } from './api-key-secret.ts'
import type { CredentialCache } from './credential-cache.ts'
import { type KeyInput, type KeyWish, parseKeyInput } from './key-input.ts'
import { AddressList } from './network-address.ts'
import { type Principal, SCOPES } from './principal.ts'
import type { ScopePolicy } from './scope-policy.ts'
import type { SecondFactor } from './second-factor.ts'

/** A new key together with its secret, which is never to be had again. */
export interface NewKey {
  secret: string
  key: ApiKey
}

export interface KeyServiceOptions {
  table: KeyTable
  accounts: AccountTable
  writes: WriteQueue
  scopes: ScopePolicy
  secondFactor: SecondFactor
  cache: CredentialCache
  clock: Clock
  random?: RandomBytes
}

const MIN_CHOSEN_SECRET = 32

/** The API keys of all accounts. Every change is durable when its promise resolves. */
export class KeyService {
  readonly #table: KeyTable
  readonly #accounts: AccountTable
  readonly #writes: WriteQueue
  readonly #scopes: ScopePolicy
  readonly #secondFactor: SecondFactor
  readonly #cache: CredentialCache
  readonly #clock: Clock
  readonly #random: RandomBytes

  constructor(options: KeyServiceOptions) {
    this.#table = options.table
    this.#accounts = options.accounts
    this.#writes = options.writes
    this.#scopes = options.scopes
    this.#secondFactor = options.secondFactor
    this.#cache = options.cache
    this.#clock = options.clock
    this.#random = options.random ?? systemRandom
  }

  /**
   * Makes a key for whoever is asking. A key can make only keys that may do no more than itself: no other scopes, no
   * later expiry, no further addresses. An account with a second factor has to give a code of it.
   *
   * @throws HoldfastError `VALIDATION`, `missing_scope`, `IP_NOT_ALLOWED`, `CONFLICT` if a live key has the name,
   * `2fa_required`, `2fa_invalid`, `RATE_LIMIT`.
   */
  async generate(principal: Principal, input: KeyInput, code?: string): Promise<NewKey> {
    const accountId = principal.account.id
    const wish = parseKeyInput(input, this.#clock.now())
    this.#scopes.check(principal, ...wish.scopes)
    const confined = this.#confine(wish, principal)
    // Now and once more on writing: a code is used up by being looked at, so it comes last.
    this.#checkFree(accountId, wish.name)
    await this.#secondFactor.check(accountId, code)
    return this.#insert(accountId, confined)
  }

  /** Makes a key on the owner's authority. @throws HoldfastError `VALIDATION`, `NOT_FOUND` or `CONFLICT`. */
  async create(accountId: string, input: KeyInput): Promise<NewKey> {
    return this.#insert(accountId, parseKeyInput(input, this.#clock.now()))
  }

  /**
   * Makes a secret that was chosen elsewhere the account's key `name`, with every scope and without expiry. The same
   * secret again changes nothing; another one takes the place of the first.
   *
   * @throws HoldfastError `VALIDATION` unless the secret is 32 printable characters or more, `CONFLICT` if it is
   * already a lesser key or another account's.
   */
  async adopt(accountId: string, name: string, secret: string): Promise<ApiKey> {
    if (secret.length < MIN_CHOSEN_SECRET || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) {
      throw new HoldfastError('VALIDATION', `the key must be ${MIN_CHOSEN_SECRET} or more printable ASCII characters`)
    }
    const now = this.#clock.now()
    const wish = parseKeyInput({ name, scopes: SCOPES }, now)
    const row: KeyRow = {
      ...wish,
      id: randomId(this.#random),
      accountId,
      hash: hashSecret(secret),
      // Its first characters may be all too telling.
      prefix: '',
      createdAt: now,
      lastUsedAt: null,
    }
    return this.#write(() => {
      const same = this.#table.findByHash(row.hash)
      if (same !== undefined) {
        if (same.accountId === accountId && isUnrestricted(same)) return toApiKey(same)
        throw new HoldfastError('CONFLICT', 'the key is already in use for something else: choose another')
      }
      const former = this.#table.find(accountId, wish.name)
      if (former !== undefined) this.#table.delete(former.id)
      this.#table.insert(row)
      return toApiKey(row)
    })
  }

  /** Oldest first, expired ones included. */
  list(accountId: string): ApiKey[] {
    return this.#table.list(accountId).map(toApiKey)
  }

  /**
   * Takes a key away from whoever is asking: a session may, that key itself, or a key with every scope of it.
   * An account with a second factor has to give a code of it.
   *
   * @throws HoldfastError `NOT_FOUND`, `missing_scope`, `2fa_required`, `2fa_invalid` or `RATE_LIMIT`.
   */
  async revoke(principal: Principal, name: string, code?: string): Promise<void> {
    const { account, credential } = principal
    const key = toApiKey(this.#find(account.id, name))
    if (credential.kind === 'key' && credential.id !== key.id) this.#scopes.check(principal, ...key.scopes)
    await this.#secondFactor.check(account.id, code)
    await this.#delete(key)
  }

  /** Takes a key away on the owner's authority. @throws HoldfastError `NOT_FOUND`. */
  async revokeByName(accountId: string, name: string): Promise<void> {
    await this.#delete(this.#find(accountId, name))
  }

  #confine(wish: KeyWish, principal: Principal): KeyWish {
    const { credential, account } = principal
    if (credential.kind === 'session') return wish
    const { expiresAt } = credential
    if (expiresAt !== null && (wish.expiresAt === null || wish.expiresAt > expiresAt)) {
      const limit = new Date(expiresAt).toISOString()
      throw new HoldfastError('VALIDATION', `expiresInDays must end by ${limit}, when the key in use expires`)
    }
    const own = this.#table.find(account.id, credential.name ?? '')?.ipAllowlist ?? []
    if (own.length === 0) return wish
    if (wish.ipAllowlist.length === 0) return { ...wish, ipAllowlist: own }
    if (!new AddressList(own).covers(new AddressList(wish.ipAllowlist))) {
      throw new HoldfastError('IP_NOT_ALLOWED', 'ipAllowlist must stay within the addresses of the key in use')
    }
    return wish
  }

  async #insert(accountId: string, wish: KeyWish): Promise<NewKey> {
    const { secret, id, prefix } = generateSecret(this.#random)
    const now = this.#clock.now()
    const row: KeyRow = { ...wish, id, accountId, hash: hashSecret(secret), prefix, createdAt: now, lastUsedAt: null }
    await this.#write(() => {
      if (this.#accounts.get(accountId) === undefined) {
        throw new HoldfastError('NOT_FOUND', `there is no account ${accountId}`)
      }
      const expired = this.#checkFree(accountId, wish.name)
      if (expired !== undefined) this.#table.delete(expired.id)
      this.#table.insert(row)
    })
    return { secret, key: toApiKey(row) }
  }

  /** Returns an expired key of that name, if there is one. @throws HoldfastError `CONFLICT` if there is a live one. */
  #checkFree(accountId: string, name: string): KeyRow | undefined {
    const former = this.#table.find(accountId, name)
    if (former !== undefined && isLive(former, this.#clock.now())) {
      throw new HoldfastError('CONFLICT', `name: there is already a key ${name}`)
    }
    return former
  }

  #find(accountId: string, name: string): KeyRow {
    const row = this.#table.find(accountId, name)
    if (row === undefined) throw new HoldfastError('NOT_FOUND', `there is no API key ${JSON.stringify(name)}`)
    return row
  }

  async #delete(key: { id: string; name: string }): Promise<void> {
    await this.#write(() => {
      if (!this.#table.delete(key.id)) {
        throw new HoldfastError('NOT_FOUND', `there is no API key ${JSON.stringify(key.name)}`)
      }
    })
  }

  async #write<T>(work: () => T): Promise<T> {
    const result = await this.#writes.run(work, { durable: true })
    this.#cache.clear()
    return result
  }
}

function isUnrestricted(key: KeyRow): boolean {
  return key.expiresAt === null && key.ipAllowlist.length === 0 && SCOPES.every(scope => key.scopes.includes(scope))
}
