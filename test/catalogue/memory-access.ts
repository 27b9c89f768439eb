import {
  type Account,
  type AccountChanges,
  type AccountStore,
  type Catalogue,
  type ClearSecret,
  type DueIdentity,
  EXPIRED_KEYS_KEPT,
  type IdentityKey,
  type IdentityStore,
  isConsoleKey,
  type KeyRefusal,
  type KeyRow,
  type KeyStore,
  MOST_SESSIONS,
  type NewKeyRow,
  type Page,
  type PageRequest,
  type PasswordLinkRow,
  type SecondFactorRow,
  type SecondFactorStore,
  type Session,
  type SessionStore,
  type StoredRefresh,
} from '../../src/catalogue/index.ts'
import { HoldfastError } from '../../src/index.ts'

export type AccessCatalogue = Pick<Catalogue, 'accounts' | 'identities' | 'keys' | 'sessions' | 'secondFactors'>

type StoredAccount = Account & { passwordHash: string | null; isDeleted: boolean }

/** The rows of all stores, in insertion order. No command awaits, so each is one transaction. */
interface AccessRows {
  accounts: StoredAccount[]
  keys: Array<NewKeyRow & { uses: number }>
  /** When the users of keys last proved to be there. */
  proofs: Map<string, number>
  sessions: Session[]
  factors: Map<string, SecondFactorRow>
  codes: Map<string, Uint8Array[]>
  links: PasswordLinkRow[]
  identities: Array<IdentityKey & { accountId: string; confirmedAt: number | null; refresh: StoredRefresh | null }>
}

/** Lookups of accounts and keys that other stores need. */
export interface AccessBeside {
  account(id: string): Account | undefined
  hasKey(id: string, accountId: string): boolean
}

/** Rows outside the access stores that are removed with keys and accounts. */
export interface GoesAlong {
  keysGone(ids: ReadonlySet<string>): void
  /** Removes some rows of an account. Returns whether there were any. */
  purge(accountId: string): boolean
}

const NOTHING: GoesAlong = { keysGone: () => undefined, purge: () => false }

/** Creates the access stores in memory. They prove that the rules demand no more than the interface promises. */
export function memoryAccess(along = NOTHING): AccessCatalogue & AccessBeside & { takeUse(token: string): void } {
  const rows: AccessRows = {
    accounts: [],
    keys: [],
    proofs: new Map(),
    sessions: [],
    factors: new Map(),
    codes: new Map(),
    links: [],
    identities: [],
  }
  return {
    takeUse: token => takeUse(rows, token),
    account: id => live(rows, id),
    hasKey: (id, accountId) => rows.keys.some(key => key.id === id && key.accountId === accountId),
    accounts: accountsOf(rows, along),
    identities: identitiesOf(rows),
    keys: keysOf(rows, along),
    sessions: sessionsOf(rows),
    secondFactors: secondFactorsOf(rows),
  }
}

/** Counts a use of an upload token, within a commit. */
function takeUse({ keys }: AccessRows, id: string): void {
  const token = keys.find(key => key.id === id && key.upload !== null)
  if (token === undefined) throw new HoldfastError('INVALID_API_KEY', 'the upload token has been revoked')
  if (token.uses >= (token.upload?.maxUses ?? 0)) {
    throw new HoldfastError('QUOTA_EXCEEDED', 'the upload token has no use left')
  }
  token.uses++
}

const lowerCase = (email: string): string => email.replace(/[A-Z]/g, letter => letter.toLowerCase())

/** Throws for rows that every database refuses: text with U+0000, and a duplicate id. */
function checkStored(row: object, others: ReadonlyArray<{ id: string }> = []): void {
  const values: unknown[] = Object.values(row)
  if (values.some(value => typeof value === 'string' && value.includes('\0'))) {
    throw new HoldfastError('VALIDATION', 'the catalogue stores no text with U+0000')
  }
  const isTaken = others.some(({ id }) => 'id' in row && row.id === id)
  if (isTaken) throw new HoldfastError('INTERNAL_ERROR', 'the id is taken')
}

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
const isLive = ({ expiresAt }: { expiresAt: number | null }, now: number): boolean =>
  expiresAt === null || expiresAt > now

function pageOf<Row extends { id: string; createdAt: number }>(rows: readonly Row[], request: PageRequest): Page<Row> {
  const sorted = rows.toSorted((a, b) => a.createdAt - b.createdAt)
  const { at = 0, id = '' } = request.after === null ? {} : (JSON.parse(request.after) as { at: number; id: string })
  const index = sorted.findIndex(row => row.id === id)
  // After a removed row, repeats rows of the same time rather than skip them.
  const from = request.after === null ? 0 : index === -1 ? sorted.findIndex(row => row.createdAt > at) : index + 1
  const rest = from === -1 ? [] : sorted.slice(from)
  const shown = rest.slice(0, request.limit)
  const last = rest.length > request.limit ? shown.at(-1) : undefined
  return { rows: shown, next: last === undefined ? null : JSON.stringify({ at: last.createdAt, id: last.id }) }
}

function live(rows: AccessRows, id: string): StoredAccount | undefined {
  return rows.accounts.find(account => account.id === id && !account.isDeleted)
}

function shown({ passwordHash: _, isDeleted: __, ...account }: StoredAccount): Account {
  return account
}

function accountsOf(rows: AccessRows, along: GoesAlong): AccountStore {
  const all = (): StoredAccount[] => rows.accounts.filter(account => !account.isDeleted)
  const byEmail = (email: string): StoredAccount | undefined =>
    all().find(account => lowerCase(account.email) === lowerCase(email))
  const isLastOwner = (account: Account): boolean =>
    account.role === 'owner' &&
    !account.disabled &&
    !all().some(({ id, role, disabled }) => id !== account.id && role === 'owner' && !disabled)
  const dropLink = (id: string): void => {
    rows.links = rows.links.filter(({ accountId }) => accountId !== id)
  }
  const linked = (hash: Uint8Array, now: number): PasswordLinkRow | undefined =>
    rows.links.find(link => same(link.hash, hash) && isLive(link, now))
  const orNull = (account: StoredAccount | undefined): Account | null => (account ? shown(account) : null)
  return {
    insert: async (account, passwordHash) => {
      if (byEmail(account.email)) return 'email_taken'
      checkStored(account, rows.accounts)
      rows.accounts.push({ ...account, passwordHash, isDeleted: false })
      return 'inserted'
    },
    get: async id => orNull(live(rows, id)),
    giveOwner: async (id, owner) => {
      const account = live(rows, id)
      if (account !== undefined) account.owner ??= owner
    },
    findByEmail: async email => orNull(byEmail(email)),
    findOwner: async () => orNull(all().find(({ role }) => role === 'owner')),
    list: async request => {
      const { rows: page, next } = pageOf(all(), request)
      return { rows: page.map(shown), next }
    },
    slice: async (offset, limit) => {
      const sorted = all().toSorted((a, b) => a.createdAt - b.createdAt)
      return { rows: sorted.slice(Math.max(0, offset), Math.max(0, offset) + limit).map(shown), total: sorted.length }
    },
    change: async (id: string, changes: AccountChanges) => {
      const account = live(rows, id)
      if (account === undefined) return 'no_account'
      const holder = changes.email === undefined ? undefined : byEmail(changes.email)
      if (holder !== undefined && holder.id !== id) return 'email_taken'
      if (changes.disabled === true && isLastOwner(account)) return 'last_owner'
      checkStored(changes)
      return shown(Object.assign(account, changes))
    },
    passwordHash: async id => live(rows, id)?.passwordHash ?? null,
    setPassword: async (id, hash, keepSession) => {
      const account = live(rows, id)
      if (account === undefined) return false
      account.passwordHash = hash
      rows.sessions = rows.sessions.filter(session => session.accountId !== id || session.id === keepSession)
      dropLink(id)
      return true
    },
    putPasswordLink: async link => {
      if (live(rows, link.accountId) === undefined) return false
      dropLink(link.accountId)
      rows.links.push(link)
      return true
    },
    hasPasswordLink: async (hash, now) => linked(hash, now) !== undefined,
    usePasswordLink: async (hash, passwordHash, now) => {
      const account = live(rows, linked(hash, now)?.accountId ?? '')
      if (account === undefined || account.disabled) return null
      dropLink(account.id)
      account.passwordHash = passwordHash
      rows.sessions = rows.sessions.filter(({ accountId }) => accountId !== account.id)
      return shown(account)
    },
    replacePassword: async (id, former, hash) => {
      const account = live(rows, id)
      if (account === undefined || account.passwordHash !== former) return false
      account.passwordHash = hash
      return true
    },
    markDeleted: async id => {
      const account = live(rows, id)
      if (account === undefined) return 'no_account'
      if (isLastOwner(account)) return 'last_owner'
      account.isDeleted = true
      rows.factors.delete(id)
      rows.codes.delete(id)
      dropLink(id)
      rows.identities = rows.identities.filter(({ accountId }) => accountId !== id)
      return 'marked'
    },
    setIdentity: async (id, { issuer, subject }) => {
      const account = live(rows, id)
      if (account === undefined) return 'no_account'
      if (account.role === 'owner') return 'owner'
      const owned = rows.identities.find(other => other.issuer === issuer && other.subject === subject)
      if (owned !== undefined && owned.accountId !== id) return 'taken'
      const former = rows.identities.find(({ accountId }) => accountId === id)
      if (former !== undefined) Object.assign(former, { issuer, subject, refresh: null })
      else rows.identities.push({ issuer, subject, accountId: id, confirmedAt: null, refresh: null })
      return shown(account)
    },
    deleted: async limit =>
      rows.accounts
        .filter(account => account.isDeleted)
        .slice(0, limit)
        .map(({ id }) => id),
    purge: async (id, limit) => {
      if (live(rows, id) !== undefined) return false
      const isTheirs = ({ accountId }: { accountId: string }): boolean => accountId === id
      const keys = rows.keys.filter(isTheirs).slice(0, limit)
      const sessions = rows.sessions.filter(isTheirs).slice(0, limit)
      rows.keys = rows.keys.filter(key => !keys.includes(key))
      rows.sessions = rows.sessions.filter(session => !sessions.includes(session))
      const isMore = along.purge(id)
      return keys.length === limit || sessions.length === limit || isMore
    },
    forget: async id => {
      const index = rows.accounts.findIndex(account => account.id === id && account.isDeleted)
      const isHeld = [...rows.keys, ...rows.sessions].some(({ accountId }) => accountId === id)
      if (index === -1 || isHeld) return false
      rows.accounts.splice(index, 1)
      return true
    },
  }
}

function identitiesOf(rows: AccessRows): IdentityStore {
  const setPlan = (accountId: string, plan: string) => Object.assign(live(rows, accountId) ?? {}, { plan })
  const holding = ({ issuer, subject, token }: DueIdentity) =>
    rows.identities.find(
      ({ refresh, ...other }) =>
        other.issuer === issuer && other.subject === subject && refresh !== null && same(refresh.token, token),
    )
  return {
    accountOf: async ({ issuer, subject }) =>
      rows.identities.find(other => other.issuer === issuer && other.subject === subject)?.accountId ?? null,
    confirm: async ({ issuer, subject }, fresh, now, refresh) => {
      const known = rows.identities.find(other => other.issuer === issuer && other.subject === subject)
      if (known === undefined) {
        const isTaken = rows.accounts.some(
          ({ email, isDeleted }) => !isDeleted && lowerCase(email) === lowerCase(fresh.email),
        )
        if (isTaken) return 'email_taken'
        rows.accounts.push({ ...fresh, passwordHash: null, isDeleted: false })
        rows.identities.push({ issuer, subject, accountId: fresh.id, confirmedAt: now, refresh })
        return fresh
      }
      Object.assign(known, { confirmedAt: now, refresh: refresh ?? known.refresh })
      const account = live(rows, known.accountId)
      return account === undefined ? fresh : shown(Object.assign(account, { plan: fresh.plan }))
    },
    takeDue: async (now, until, limit) =>
      rows.identities
        .flatMap(({ issuer, subject, refresh }) => (refresh === null ? [] : { issuer, subject, refresh }))
        .filter(({ refresh }) => refresh.at <= now)
        .toSorted((a, b) => a.refresh.at - b.refresh.at)
        .slice(0, limit)
        .map(({ issuer, subject, refresh }) => {
          refresh.at = until
          return { issuer, subject, token: refresh.token }
        }),
    refreshed: async (due, plan, now, refresh) => {
      const known = holding(due)
      if (known === undefined) return false
      Object.assign(known, { confirmedAt: now, refresh })
      setPlan(known.accountId, plan)
      return true
    },
    revoke: async (due, plan, life) => {
      const known = holding(due)
      if (known === undefined) return false
      Object.assign(known, { confirmedAt: null, refresh: null })
      setPlan(known.accountId, plan)
      rows.sessions = rows.sessions.filter(
        ({ accountId, createdAt, expiresAt }) => accountId !== known.accountId || expiresAt > createdAt + life,
      )
      return true
    },
    lapse: async (before, plan, limit) => {
      const stale = rows.identities
        .filter(({ confirmedAt }) => confirmedAt !== null && confirmedAt < before)
        .toSorted((a, b) => Number(a.confirmedAt) - Number(b.confirmedAt))
        .slice(0, limit)
      for (const identity of stale) {
        identity.confirmedAt = null
        setPlan(identity.accountId, plan)
      }
      return stale.length
    },
  }
}

function keysOf(rows: AccessRows, along: GoesAlong): KeyStore {
  const whole = (key: AccessRows['keys'][number]): KeyRow => {
    const parent = rows.keys.find(({ id }) => id === key.parentId)
    return { ...key, parent: parent?.name ?? null }
  }
  const named = (accountId: string, name: string): AccessRows['keys'][number] | undefined =>
    rows.keys.find(key => key.accountId === accountId && key.name === name)
  const remove = (ids: ReadonlySet<string>): void => {
    rows.keys = rows.keys.filter(({ id }) => !ids.has(id))
    along.keysGone(ids)
  }
  const isAlike = (a: NewKeyRow, b: NewKeyRow): boolean => (a.upload === null) === (b.upload === null)
  const clearExpired = (added: NewKeyRow, now: number): void => {
    const expired = rows.keys
      .filter(key => key.accountId === added.accountId && isAlike(key, added) && !isLive(key, now))
      .toSorted((a, b) => Number(b.expiresAt) - Number(a.expiresAt))
    remove(new Set(expired.slice(EXPIRED_KEYS_KEPT).map(({ id }) => id)))
  }
  const refusal = (key: NewKeyRow, now: number, maxKeys: number | null): KeyRefusal | null => {
    const { accountId, parentId, name } = key
    if (live(rows, accountId) === undefined) return 'no_account'
    const theirs = rows.keys.filter(other => other.accountId === accountId && isLive(other, now))
    if (parentId !== null && !theirs.some(({ id }) => id === parentId)) return 'no_parent'
    const former = theirs.find(other => other.name === name)
    if (former !== undefined) return 'name_taken'
    const counted = isConsoleKey(key)
      ? theirs.filter(other => isConsoleKey(other) && other.parentId === parentId)
      : theirs.filter(other => isAlike(other, key) && !isConsoleKey(other))
    return maxKeys !== null && counted.length >= maxKeys ? 'too_many' : null
  }
  return {
    insert: async (key, { now, maxKeys }) => {
      const why = refusal(key, now, maxKeys)
      if (why !== null) return why
      const former = named(key.accountId, key.name)
      if (former !== undefined) remove(new Set([former.id]))
      checkStored(key, rows.keys)
      rows.keys.push({ ...key, uses: 0 })
      clearExpired(key, now)
      return 'inserted'
    },
    adopt: async key => {
      const known = rows.keys.find(({ hash }) => same(hash, key.hash))
      if (known !== undefined) return whole(known)
      const former = named(key.accountId, key.name)
      const adopted = former ?? { ...key, uses: 0 }
      if (former === undefined) rows.keys.push(adopted)
      else {
        const { hash, prefix, scopes, ipAllowlist, expiresAt } = key
        Object.assign(former, { hash, prefix, scopes, ipAllowlist, expiresAt, parentId: null })
      }
      return { ...whole(adopted) }
    },
    findByHash: async hash => {
      const key = rows.keys.find(other => same(other.hash, hash))
      return key ? whole(key) : null
    },
    findByName: async (accountId, name) => {
      const key = named(accountId, name)
      return key ? whole(key) : null
    },
    uses: async id => rows.keys.find(key => key.id === id && key.upload !== null)?.uses ?? null,
    list: async (accountId, { isUpload = false, ...request }) => {
      const { rows: page, next } = pageOf(
        rows.keys.filter(key => key.accountId === accountId && (key.upload !== null) === isUpload),
        request,
      )
      return { rows: page.map(whole), next }
    },
    revoke: async id => {
      const gone = new Set(rows.keys.filter(key => key.id === id).map(key => key.id))
      for (let before = -1; before !== gone.size; ) {
        before = gone.size
        for (const { id: child, parentId } of rows.keys) if (parentId !== null && gone.has(parentId)) gone.add(child)
      }
      remove(gone)
      return gone.size
    },
    revokeConsole: async (accountId, parentId) => {
      const gone = rows.keys.filter(
        key => key.accountId === accountId && key.parentId === parentId && isConsoleKey(key),
      )
      remove(new Set(gone.map(({ id }) => id)))
      return gone.length
    },
    provedAt: async id => {
      const key = rows.keys.find(other => other.id === id)
      return key === undefined ? null : (rows.proofs.get(id) ?? key.createdAt)
    },
    prove: async (id, at) => void rows.proofs.set(id, at),
    noteUse: async (id, at) => {
      const key = rows.keys.find(other => other.id === id)
      if (key !== undefined) key.lastUsedAt = at
    },
  }
}

function sessionsOf(rows: AccessRows): SessionStore {
  return {
    begin: async (session, { now, passwordHash }) => {
      const account = live(rows, session.accountId)
      if (account === undefined || ![account.passwordHash, ''].includes(passwordHash)) return 'stale'
      if (account.disabled) return 'disabled'
      rows.sessions = rows.sessions.filter(({ expiresAt }) => expiresAt > now)
      checkStored(session, rows.sessions)
      rows.sessions.push(session)
      const theirs = rows.sessions.filter(({ accountId }) => accountId === account.id)
      const surplus = new Set(theirs.slice(0, Math.max(0, theirs.length - MOST_SESSIONS)))
      rows.sessions = rows.sessions.filter(other => !surplus.has(other))
      return shown(account)
    },
    get: async id => rows.sessions.find(session => session.id === id) ?? null,
    list: async (accountId, now, request) =>
      pageOf(
        rows.sessions.filter(session => session.accountId === accountId && session.expiresAt > now),
        request,
      ),
    prove: async (id, at) => {
      rows.sessions = rows.sessions.map(session =>
        session.id === id && session.provedAt !== null ? { ...session, provedAt: at } : session,
      )
    },
    end: async id => {
      const before = rows.sessions.length
      rows.sessions = rows.sessions.filter(session => session.id !== id)
      return rows.sessions.length < before
    },
    endAll: async (accountId, keep) => {
      const before = rows.sessions.length
      rows.sessions = rows.sessions.filter(session => session.accountId !== accountId || session.id === keep)
      return before - rows.sessions.length
    },
  }
}

function secondFactorsOf({ accounts, factors, codes }: AccessRows): SecondFactorStore {
  const isEnabled = (accountId: string): boolean => (factors.get(accountId)?.enabledAt ?? null) !== null
  return {
    get: async accountId => {
      const row = factors.get(accountId)
      return row ? { ...row } : null
    },
    begin: async (accountId, secret) => {
      if (!accounts.some(({ id, isDeleted }) => id === accountId && !isDeleted)) return 'no_account'
      if (isEnabled(accountId)) return 'enabled'
      factors.set(accountId, { secret, enabledAt: null, lastStep: -1 })
      return 'begun'
    },
    enable: async (accountId, { secret, step }, at, recoveryHashes) => {
      const row = factors.get(accountId)
      if (row === undefined || row.enabledAt !== null || !same(row.secret, secret) || row.lastStep >= step) return false
      Object.assign(row, { enabledAt: at, lastStep: step })
      codes.set(accountId, [...recoveryHashes])
      return true
    },
    useStep: async (accountId, { secret, step }) => {
      const row = factors.get(accountId)
      if (row === undefined || row.enabledAt === null || !same(row.secret, secret) || row.lastStep >= step) return false
      row.lastStep = step
      return true
    },
    useRecoveryCode: async (accountId, hash) => {
      const theirs = codes.get(accountId) ?? []
      const index = theirs.findIndex(code => same(code, hash))
      if (!isEnabled(accountId) || index === -1) return false
      theirs.splice(index, 1)
      return true
    },
    // Memory never has unsealed secrets.
    inClear: async (): Promise<ClearSecret[]> => [],
    seal: async () => undefined,
    disable: async accountId => {
      const was = isEnabled(accountId)
      factors.delete(accountId)
      codes.delete(accountId)
      return was
    },
  }
}
