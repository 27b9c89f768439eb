import assert from 'node:assert/strict'
import {
  type Account,
  consoleKeyName,
  EXPIRED_KEYS_KEPT,
  MOST_SESSIONS,
  type NewKeyRow,
  type Page,
  type PageRequest,
  type Session,
} from '../../src/catalogue/index.ts'
import { PLAIN_ACCOUNT } from '../support/plain-account.ts'
import type { AccessCatalogue } from './memory-access.ts'

/** A test that every implementation of the access stores must pass. It gets an empty catalogue. */
export interface AccessRule {
  name: string
  run(catalogue: AccessCatalogue): Promise<void>
}

const NOW = 1_000_000
const GRANT = { maxUses: 3, maxBytes: 10, cluster: 'near', timelock: NOW + 9 }
const UNLIMITED = { now: NOW, maxKeys: null }

export const accessRules: readonly AccessRule[] = [
  {
    name: 'finds an account by id, and by email without case',
    async run({ accounts }) {
      const one = account('one')
      assert.equal(await accounts.insert(one, 'hash'), 'inserted')
      assert.equal(await accounts.insert({ ...account('two'), email: 'ONE@example.org' }, null), 'email_taken')
      assert.deepEqual(await accounts.get('one'), one)
      assert.deepEqual(await accounts.findByEmail('One@Example.ORG'), one)
      assert.equal(await accounts.get('two'), null)
      assert.equal(await accounts.passwordHash('one'), 'hash')
      assert.equal(await accounts.passwordHash('two'), null)
      // Case matters for all letters but A to Z.
      for (const letter of ['é', 'É']) {
        assert.equal(await accounts.insert({ ...account(letter), email: `${letter}@example.org` }, null), 'inserted')
      }
      assert.equal((await accounts.findByEmail('É@EXAMPLE.org'))?.id, 'É')
    },
  },
  {
    name: 'refuses a duplicate id as an internal error, and changes nothing',
    async run({ accounts, keys, sessions }) {
      await accounts.insert(account('one'), 'hash')
      await keys.insert(key('one', 'k1'), UNLIMITED)
      await sessions.begin(session('one', 's1'), { now: NOW, passwordHash: 'hash' })
      const taken = { code: 'INTERNAL_ERROR' }
      await assert.rejects(accounts.insert({ ...account('one'), email: 'two@example.org' }, null), taken)
      await assert.rejects(keys.insert(key('one', 'k1', { name: 'k2', hash: Buffer.from('k2') }), UNLIMITED), taken)
      await assert.rejects(sessions.begin(session('one', 's1'), { now: NOW, passwordHash: 'hash' }), taken)
      assert.equal(await accounts.findByEmail('two@example.org'), null)
      assert.deepEqual(await walk(request => keys.list('one', request), 10), ['k1'])
    },
  },
  {
    name: 'finds nothing for text with U+0000, and refuses to store it',
    async run({ accounts, keys, sessions }) {
      await accounts.insert(account('one'), 'hash')
      const invalid = { code: 'VALIDATION' }
      await assert.rejects(accounts.insert(account('t\0'), null), invalid)
      await assert.rejects(accounts.change('one', { name: 't\0' }), invalid)
      await assert.rejects(keys.insert(key('one', 'k', { label: 't\0' }), UNLIMITED), invalid)
      assert.deepEqual([await accounts.get('one\0'), await accounts.findByEmail('one@example.org\0')], [null, null])
      assert.deepEqual([await sessions.get('\0'), await sessions.end('\0'), await keys.revoke('\0')], [null, false, 0])
      assert.equal(await keys.insert(key('one\0', 'k'), UNLIMITED), 'no_account')
      assert.deepEqual(await keys.list('one\0', { after: null, limit: 1 }), { rows: [], next: null })
      assert.deepEqual(await accounts.get('one'), account('one'))
    },
  },
  {
    name: 'gives an email to one account only, under concurrent inserts and changes',
    async run({ accounts }) {
      const outcomes = await Promise.all(
        ['a', 'b', 'c'].map(id => accounts.insert({ ...account(id), email: 'same@example.org' }, null)),
      )
      assert.deepEqual(outcomes.toSorted(), ['email_taken', 'email_taken', 'inserted'])
      const own = ['d', 'e', 'f']
      for (const id of own) await accounts.insert(account(id), null)
      for (let round = 0; round < 10; round++) {
        const email = `${round}@example.org`
        const changed = await Promise.all(own.map(id => accounts.change(id, { email })))
        const taken = changed.filter(outcome => outcome === 'email_taken').length
        assert.equal(taken, 2, `round ${round}: ${JSON.stringify(changed)}`)
      }
    },
  },
  {
    name: 'changes only the given fields of an account',
    async run({ accounts }) {
      await accounts.insert(account('one'), null)
      await accounts.insert(account('two'), null)
      const changed = { ...account('one'), plan: 'premium', name: 'One' }
      assert.deepEqual(await accounts.change('one', { plan: 'premium', name: 'One' }), changed)
      assert.deepEqual(await accounts.get('one'), changed)
      assert.equal(await accounts.change('one', { email: 'TWO@example.org' }), 'email_taken')
      assert.equal(await accounts.change('three', { plan: 'free' }), 'no_account')
      assert.deepEqual(await accounts.get('one'), changed)
    },
  },
  {
    name: 'always keeps one enabled owner',
    async run({ accounts }) {
      await accounts.insert({ ...account('boss'), role: 'owner' }, null)
      assert.equal((await accounts.findOwner())?.id, 'boss')
      assert.equal(await accounts.change('boss', { disabled: true }), 'last_owner')
      assert.equal(await accounts.markDeleted('boss', NOW), 'last_owner')
      await accounts.insert(account('user'), null)
      const both = { email: 'user@example.org', disabled: true }
      assert.equal(await accounts.change('boss', both), 'email_taken', 'an email that is taken is told first')
      await accounts.insert({ ...account('deputy'), role: 'owner' }, null)
      const outcomes = await Promise.all(['boss', 'deputy'].map(id => accounts.change(id, { disabled: true })))
      assert.equal(outcomes.filter(outcome => outcome === 'last_owner').length, 1)
    },
  },
  {
    name: 'pages lists oldest first, without gaps or repeats despite removals',
    async run({ accounts, keys }) {
      const ids = Array.from({ length: 7 }, (_, i) => `a${i}`)
      for (const [i, id] of ids.entries()) await accounts.insert({ ...account(id), createdAt: 10 + i }, null)
      assert.deepEqual(await walk(request => accounts.list(request), 3), ids)
      const last = await accounts.slice(5, 10)
      assert.deepEqual([last.rows.map(({ id }) => id), last.total], [['a5', 'a6'], 7])
      assert.deepEqual((await accounts.slice(7, 10)).rows, [])
      const before = await accounts.slice(-3, 1)
      assert.deepEqual([before.rows.map(({ id }) => id), before.total], [['a0'], 7])
      for (const [i, id] of ids.entries()) await keys.insert({ ...key('a0', id), createdAt: 10 + i }, UNLIMITED)
      const first = await keys.list('a0', { after: null, limit: 3 })
      assert.deepEqual(
        first.rows.map(({ id }) => id),
        ['a0', 'a1', 'a2'],
      )
      await keys.revoke('a2')
      await keys.revoke('a3')
      assert.deepEqual(await walk(request => keys.list('a0', request), 2, first.next), ['a4', 'a5', 'a6'])
      assert.deepEqual(await walk(request => keys.list('a1', request), 2), [])
    },
  },
  {
    name: 'ends all other sessions with a new password; replaces only the former',
    async run({ accounts, sessions }) {
      await accounts.insert(account('one'), 'first')
      const check = { now: NOW, passwordHash: 'first' }
      for (const id of ['s1', 's2', 's3']) await sessions.begin(session('one', id), check)
      assert.equal(await accounts.setPassword('one', 'second', 's2'), true)
      assert.deepEqual([await sessions.get('s1'), await sessions.get('s3')], [null, null])
      assert.equal((await sessions.get('s2'))?.accountId, 'one')
      assert.equal(await accounts.replacePassword('one', 'first', 'third'), false)
      assert.equal(await accounts.replacePassword('one', 'second', 'third'), true)
      assert.equal(await accounts.passwordHash('one'), 'third')
      assert.equal(await accounts.setPassword('nobody', 'x', null), false)
    },
  },
  {
    name: 'sets a password with a live link, once, and ends the sessions',
    async run({ accounts, sessions }) {
      for (const id of ['one', 'two']) await accounts.insert(account(id), 'hash')
      await sessions.begin(session('one', 's1'), { now: NOW, passwordHash: 'hash' })
      await sessions.begin(session('two', 's2'), { now: NOW, passwordHash: 'hash' })
      const [former, link] = [linkOf('one', 'former'), linkOf('one', 'link')]
      assert.equal(await accounts.putPasswordLink(linkOf('nobody', 'x')), false)
      for (const made of [former, link]) assert.equal(await accounts.putPasswordLink(made), true)
      const refused: [hash: Uint8Array, at: number][] = [
        [former.hash, NOW],
        [link.hash, link.expiresAt],
        [Buffer.from('guess'), NOW],
      ]
      for (const [hash, at] of refused) {
        assert.equal(await accounts.hasPasswordLink(hash, at), false)
        assert.equal(await accounts.usePasswordLink(hash, 'stolen', at), null)
      }
      assert.equal(await accounts.hasPasswordLink(link.hash, NOW), true)
      const uses = ['a', 'b', 'c'].map(hash => accounts.usePasswordLink(link.hash, hash, NOW))
      const won = (await Promise.all(uses)).flatMap((used, i) => (used === null ? [] : [{ used, hash: 'abc'[i] }]))
      assert.deepEqual(won, [{ used: account('one'), hash: await accounts.passwordHash('one') }])
      assert.equal(await accounts.hasPasswordLink(link.hash, NOW), false)
      assert.equal(await sessions.get('s1'), null)
      assert.equal((await sessions.get('s2'))?.accountId, 'two')
    },
  },
  {
    name: 'refuses a password link of a disabled, deleted or changed account',
    async run({ accounts }) {
      const use = (id: string) => accounts.usePasswordLink(linkOf(id, `${id} link`).hash, 'new', NOW)
      for (const id of ['one', 'two', 'three']) {
        await accounts.insert(account(id), 'hash')
        await accounts.putPasswordLink(linkOf(id, `${id} link`))
      }
      await accounts.change('one', { disabled: true })
      await accounts.markDeleted('two', NOW)
      await accounts.setPassword('three', 'other', null)
      for (const id of ['one', 'two', 'three']) assert.equal(await use(id), null, id)
      assert.equal(await accounts.putPasswordLink(linkOf('two', 'again')), false)
      assert.equal(await accounts.passwordHash('one'), 'hash')
      // The link survives a refusal.
      await accounts.change('one', { disabled: false })
      assert.equal((await use('one'))?.id, 'one')
    },
  },
  {
    name: 'finds the account of an identity by issuer and subject, never by email',
    async run({ accounts, identities }) {
      await accounts.insert(account('owner'), 'hash')
      const [ada, other] = [
        { issuer: 'https://a', subject: 'ada' },
        { issuer: 'https://b', subject: 'ada' },
      ]
      const taken = { ...account('fresh'), email: 'OWNER@example.org' }
      assert.equal(await identities.confirm(ada, taken, NOW, null), 'email_taken')
      assert.equal(await accounts.get('fresh'), null)
      const both = await Promise.all(['one', 'two'].map(id => identities.confirm(ada, account(id), NOW, null)))
      assert.deepEqual(both[0], both[1])
      assert.equal((await accounts.list({ after: null, limit: 9 })).rows.length, 2)
      assert.deepEqual(await identities.confirm(other, account('three'), NOW, null), account('three'))
      const premium = await identities.confirm(other, { ...account('four'), plan: 'premium' }, NOW, null)
      assert.deepEqual(premium, { ...account('three'), plan: 'premium' })
      assert.equal((await accounts.get('three'))?.plan, 'premium')
      assert.equal((await accounts.get('owner'))?.plan, 'free')
      await accounts.markDeleted('three', NOW)
      assert.deepEqual(await identities.confirm(other, account('five'), NOW, null), account('five'))
    },
  },
  {
    name: 'ends the plan of an identity that was confirmed long ago',
    async run({ accounts, identities }) {
      for (const [i, id] of ['one', 'two', 'three'].entries()) {
        await identities.confirm(
          { issuer: 'https://a', subject: id },
          { ...account(id), plan: 'premium' },
          NOW + i,
          null,
        )
      }
      const plans = async () => Promise.all(['one', 'two', 'three'].map(async id => (await accounts.get(id))?.plan))
      assert.equal(await identities.lapse(NOW, 'free', 10), 0)
      assert.equal(await identities.lapse(NOW + 2, 'free', 1), 1)
      assert.deepEqual(await plans(), ['free', 'premium', 'premium'])
      assert.deepEqual(
        [await identities.lapse(NOW + 2, 'free', 10), await identities.lapse(NOW + 2, 'free', 10)],
        [1, 0],
      )
      assert.deepEqual(await plans(), ['free', 'free', 'premium'])
      // The owner may give another plan, which stays.
      await accounts.change('one', { plan: 'unlimited' })
      assert.equal(await identities.lapse(NOW + 2, 'free', 10), 0)
      await identities.confirm(
        { issuer: 'https://a', subject: 'two' },
        { ...account('x'), plan: 'premium' },
        NOW + 9,
        null,
      )
      assert.deepEqual(await plans(), ['unlimited', 'premium', 'premium'])
    },
  },
  {
    name: 'gives an identity that is due to one caller, until the lease ends',
    async run({ accounts, identities }) {
      const user = (subject: string) => ({ issuer: 'https://a', subject })
      for (const [i, id] of ['one', 'two', 'three'].entries()) {
        await identities.confirm(user(id), account(id), NOW, { token: bytes(id), at: NOW + i })
      }
      await identities.confirm(user('four'), account('four'), NOW, null)
      assert.deepEqual(await identities.takeDue(NOW - 1, NOW + 5, 9), [])
      const taken = await Promise.all([1, 2].map(() => identities.takeDue(NOW + 1, NOW + 5, 1)))
      assert.deepEqual(
        taken
          .flat()
          .map(({ subject }) => subject)
          .toSorted(),
        ['one', 'two'],
      )
      const subjects = async (now: number) => (await identities.takeDue(now, NOW + 99, 9)).map(({ subject }) => subject)
      assert.deepEqual(await subjects(NOW + 4), ['three'])
      assert.deepEqual((await subjects(NOW + 5)).toSorted(), ['one', 'two'])
      assert.deepEqual(await subjects(NOW + 98), [])
      // A sign-in without a token keeps the former one.
      await identities.confirm(user('one'), account('fresh'), NOW, null)
      assert.deepEqual(
        (await identities.takeDue(NOW + 99, NOW + 200, 9)).find(({ subject }) => subject === 'one'),
        { ...user('one'), token: bytes('one') },
      )
      await accounts.markDeleted('one', NOW)
      assert.deepEqual((await identities.takeDue(NOW + 500, NOW + 600, 9)).length, 2)
    },
  },
  {
    name: 'settles a refresh only with the token that it took',
    async run({ accounts, identities, sessions }) {
      const ada = { issuer: 'https://a', subject: 'ada' }
      await identities.confirm(ada, account('one'), NOW, { token: bytes('first'), at: NOW })
      await identities.confirm({ ...ada, subject: 'other' }, account('two'), NOW, {
        token: bytes('other'),
        at: NOW + 9,
      })
      const [due = { ...ada, token: bytes('') }] = await identities.takeDue(NOW, NOW + 5, 9)
      assert.deepEqual(due, { ...ada, token: bytes('first') })
      const next = { token: bytes('second'), at: NOW + 7 }
      assert.equal(await identities.refreshed(due, 'premium', NOW + 2, next), true)
      assert.equal((await accounts.get('one'))?.plan, 'premium')
      // The plan lapses by the time of the refresh, not of the sign-in.
      assert.equal(await identities.lapse(NOW + 2, 'base', 9), 1)
      assert.deepEqual([(await accounts.get('one'))?.plan, (await accounts.get('two'))?.plan], ['premium', 'base'])
      assert.equal(await identities.refreshed(due, 'unlimited', NOW + 3, next), false)
      assert.equal(await identities.revoke(due, 'base', 1_000), false)
      assert.equal((await accounts.get('one'))?.plan, 'premium')
      assert.deepEqual(await identities.takeDue(NOW + 6, NOW + 8, 9), [])
      const [again = due] = await identities.takeDue(NOW + 7, NOW + 8, 9)
      assert.deepEqual(again, { ...ada, token: bytes('second') })

      await sessions.begin(session('one', 'short'), { now: NOW, passwordHash: '' })
      await sessions.begin({ ...session('one', 'long'), expiresAt: NOW + 1_001 }, { now: NOW, passwordHash: '' })
      await sessions.begin(session('two', 'other'), { now: NOW, passwordHash: '' })
      assert.equal(await identities.revoke(again, 'base', 1_000), true)
      const left = await Promise.all(['short', 'long', 'other'].map(id => sessions.get(id)))
      assert.deepEqual(
        left.map(found => found?.id ?? null),
        [null, 'long', 'other'],
      )
      assert.equal((await accounts.get('one'))?.plan, 'base')
      assert.deepEqual(await identities.takeDue(NOW + 8, NOW + 9, 9), [])
      assert.equal(await identities.lapse(NOW + 99, 'free', 9), 0)
    },
  },
  {
    name: 'gives an identity to an account that exists, except an owner',
    async run({ accounts, identities }) {
      for (const id of ['one', 'two']) await accounts.insert(account(id), null)
      await accounts.insert({ ...account('owner'), role: 'owner' }, null)
      const [ada, eve] = ['ada', 'eve'].map(subject => ({ issuer: 'https://a', subject }))
      if (ada === undefined || eve === undefined) throw new Error('no identities')
      assert.equal(await accounts.setIdentity('nobody', ada), 'no_account')
      assert.equal(await accounts.setIdentity('owner', ada), 'owner')
      assert.deepEqual(await accounts.setIdentity('one', ada), account('one'))
      assert.equal(await accounts.setIdentity('two', ada), 'taken')
      assert.deepEqual(await accounts.setIdentity('one', ada), account('one'))
      assert.equal(await identities.lapse(NOW, 'base', 9), 0)
      const signedIn = await identities.confirm(ada, { ...account('x'), plan: 'premium' }, NOW, null)
      assert.deepEqual(signedIn, { ...account('one'), plan: 'premium' })
      // The former user of an account then gets one of their own.
      await accounts.setIdentity('one', eve)
      assert.deepEqual([await identities.lapse(NOW + 1, 'base', 9), (await accounts.get('one'))?.plan], [1, 'base'])
      assert.deepEqual(await identities.confirm(ada, account('fresh'), NOW, null), account('fresh'))
      assert.equal(await accounts.setIdentity('two', ada), 'taken')
    },
  },
  {
    name: 'begins a session only with the current password of an enabled account',
    async run({ accounts, sessions }) {
      await accounts.insert(account('one'), 'hash')
      assert.deepEqual(await sessions.begin(session('one', 's1'), { now: NOW, passwordHash: 'hash' }), account('one'))
      assert.equal(await sessions.begin(session('one', 's2'), { now: NOW, passwordHash: 'other' }), 'stale')
      assert.equal(await sessions.begin(session('nobody', 's3'), { now: NOW, passwordHash: 'hash' }), 'stale')
      assert.equal(await sessions.begin(session('nobody', 's5'), { now: NOW, passwordHash: '' }), 'stale')
      await accounts.change('one', { disabled: true })
      assert.equal(await sessions.begin(session('one', 's4'), { now: NOW, passwordHash: 'hash' }), 'disabled')
      assert.deepEqual(await Promise.all(['s2', 's3', 's4'].map(id => sessions.get(id))), [null, null, null])
    },
  },
  {
    name: 'stores proofs of kept sessions only',
    async run({ accounts, sessions }) {
      await accounts.insert(account('one'), 'hash')
      const check = { now: NOW, passwordHash: 'hash' }
      await sessions.begin(session('one', 'other'), check)
      for (const id of ['kept', 'beside']) await sessions.begin({ ...session('one', id), provedAt: NOW }, check)
      const provedAt = async (id: string) => (await sessions.get(id))?.provedAt
      assert.deepEqual([await provedAt('other'), await provedAt('kept')], [null, NOW])
      for (const id of ['other', 'kept', 'none']) await sessions.prove(id, NOW + 7)
      const proofs = [await provedAt('other'), await provedAt('kept'), await provedAt('beside')]
      assert.deepEqual(proofs, [null, NOW + 7, NOW])
      const { rows } = await sessions.list('one', NOW, { after: null, limit: 10 })
      assert.deepEqual(rows.map(row => row.provedAt).toSorted(), [NOW, NOW + 7, null])
    },
  },
  {
    name: 'stores proofs of keys, from their creation on',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), 'hash')
      for (const id of ['k1', 'k2']) await keys.insert(key('one', id, { createdAt: NOW }), UNLIMITED)
      await keys.prove('k1', NOW + 7)
      await keys.prove('none', NOW + 7)
      const proofs = await Promise.all(['k1', 'k2', 'none'].map(id => keys.provedAt(id)))
      assert.deepEqual(proofs, [NOW + 7, NOW, null])
    },
  },
  {
    name: 'finds the account of an identity, and no other',
    async run({ accounts, identities }) {
      await accounts.insert(account('one'), null)
      await accounts.setIdentity('one', { issuer: 'i', subject: 's' })
      assert.equal(await identities.accountOf({ issuer: 'i', subject: 's' }), 'one')
      assert.equal(await identities.accountOf({ issuer: 'i', subject: 'S' }), null)
      assert.equal(await identities.accountOf({ issuer: 'I', subject: 's' }), null)
    },
  },
  {
    name: 'lists sessions until they expire, and ends each once',
    async run({ accounts, sessions }) {
      await accounts.insert(account('one'), 'hash')
      const check = { now: NOW, passwordHash: 'hash' }
      for (const id of ['s1', 's2', 's3']) await sessions.begin(session('one', id), check)
      await sessions.begin({ ...session('one', 'old'), expiresAt: NOW + 1 }, check)
      assert.deepEqual(await walk(request => sessions.list('one', NOW + 1, request), 2), ['s1', 's2', 's3'])
      assert.deepEqual([await sessions.end('s1'), await sessions.end('s1')], [true, false])
      assert.equal(await sessions.get('s1'), null)
      assert.equal(await sessions.endAll('one', 's3'), 2)
      assert.deepEqual(await walk(request => sessions.list('one', NOW, request), 2), ['s3'])
    },
  },
  {
    name: 'drops the oldest session beyond the maximum per account',
    async run({ accounts, sessions }) {
      await accounts.insert(account('one'), 'hash')
      await accounts.insert(account('two'), 'hash')
      const check = { now: NOW, passwordHash: 'hash' }
      await sessions.begin(session('two', 'theirs'), check)
      const begun: Promise<unknown>[] = []
      for (let i = 0; i < MOST_SESSIONS + 2; i++) {
        begun.push(sessions.begin({ ...session('one', `s${i}`), createdAt: NOW + i }, check))
      }
      await Promise.all(begun)
      const left = await walk(request => sessions.list('one', NOW, request), 400)
      assert.deepEqual([left.length, left[0], left.at(-1)], [MOST_SESSIONS, 's2', `s${MOST_SESSIONS + 1}`])
      assert.equal((await sessions.get('theirs'))?.id, 'theirs')
    },
  },
  {
    name: 'finds a key by hash, and by name within its account',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const row = key('one', 'k', { scopes: ['files:read'], ipAllowlist: ['10.0.0.0/8'], label: 'a note' })
      assert.equal(await keys.insert(row, UNLIMITED), 'inserted')
      assert.equal(await keys.insert(key('nobody', 'x'), UNLIMITED), 'no_account')
      const found = await keys.findByHash(row.hash)
      assert.deepEqual({ ...found, hash: null }, { ...row, hash: null, parent: null, uses: 0 })
      assert.equal((await keys.findByName('one', 'k'))?.id, 'k')
      assert.equal(await keys.findByName('two', 'k'), null)
      assert.equal(await keys.findByHash(Buffer.from('x')), null)
      await keys.noteUse('k', NOW + 5)
      assert.equal((await keys.findByHash(row.hash))?.lastUsedAt, NOW + 5)
    },
  },
  {
    name: 'refuses the name of a live key, and replaces an expired one',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const asked = ['a', 'b', 'c'].map(id =>
        keys.insert(key('one', id, { name: 'ci', expiresAt: NOW + 1 }), UNLIMITED),
      )
      assert.deepEqual((await Promise.all(asked)).toSorted(), ['inserted', 'name_taken', 'name_taken'])
      const later = { now: NOW + 1, maxKeys: null }
      assert.equal(await keys.insert(key('one', 'd', { name: 'ci' }), later), 'inserted')
      assert.deepEqual(await walk(request => keys.list('one', request), 10), ['d'])
    },
  },
  {
    name: 'limits live keys per account under concurrent inserts, ignoring expired ones',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      await accounts.insert(account('two'), null)
      await keys.insert(key('one', 'old', { expiresAt: NOW }), { now: NOW - 1, maxKeys: 1 })
      await keys.insert(key('two', 'theirs'), { now: NOW, maxKeys: 1 })
      const asked = ['a', 'b', 'c', 'd'].map((id, i) =>
        keys.insert(key('one', id, { expiresAt: i === 0 ? NOW + 1 : null }), { now: NOW, maxKeys: 3 }),
      )
      assert.deepEqual((await Promise.all(asked)).toSorted(), ['inserted', 'inserted', 'inserted', 'too_many'])
      assert.equal(await keys.insert(key('one', 'e'), { now: NOW + 1, maxKeys: 3 }), 'inserted')
      assert.equal(await keys.insert(key('one', 'f'), { now: NOW + 1, maxKeys: 0 }), 'too_many')
    },
  },
  {
    name: 'counts the console keys of each key apart, and ends them together',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const limits = { now: NOW, maxKeys: 2 }
      const consoleKey = (id: string, parentId: string, changes: Partial<NewKeyRow> = {}) =>
        key('one', id, { parentId, name: consoleKeyName(parentId, id), expiresAt: NOW + 2, ...changes })
      const two = { now: NOW, maxKeys: 2 }
      await keys.insert(key('one', 'a'), limits)
      await keys.insert(key('one', 'b', { expiresAt: NOW + 2 }), limits)
      // Versions before 0.4.0 named the key after its parent alone.
      assert.equal(await keys.insert(consoleKey('c1', 'a', { name: 'console-a' }), two), 'inserted')
      assert.equal(await keys.insert(consoleKey('c2', 'b'), two), 'inserted')
      const asked = ['c3', 'c4', 'c5'].map(id => keys.insert(consoleKey(id, 'a'), two))
      assert.deepEqual((await Promise.all(asked)).toSorted(), ['inserted', 'too_many', 'too_many'])
      assert.equal(await keys.insert(key('one', 'd'), limits), 'too_many')
      assert.equal(await keys.insert(key('one', 'd', { parentId: 'a' }), { now: NOW, maxKeys: 3 }), 'inserted')
      assert.equal(await keys.insert(consoleKey('c2', 'b'), two), 'name_taken')
      // Neither a key without this parent nor one of another name is a sign-in of it.
      await keys.insert(key('one', 'e', { name: consoleKeyName('a', 'e') }), UNLIMITED)
      await keys.insert(consoleKey('f', 'a', { name: 'console-ab' }), UNLIMITED)
      assert.equal(await keys.revokeConsole('two', 'a'), 0)
      assert.equal(await keys.revokeConsole('one', 'a'), 2)
      assert.deepEqual((await walk(request => keys.list('one', request), 10)).toSorted(), [
        'a',
        'b',
        'c2',
        'd',
        'e',
        'f',
      ])
      // An expired sign-in leaves its place.
      await keys.insert(consoleKey('g1', 'a', { expiresAt: NOW + 1 }), two)
      await keys.insert(consoleKey('g2', 'a'), two)
      assert.equal(await keys.insert(consoleKey('g3', 'a'), { now: NOW + 1, maxKeys: 2 }), 'inserted')
    },
  },
  {
    name: 'lists, counts and clears upload tokens apart from other keys',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const token = (id: string, changes: Partial<NewKeyRow> = {}) => key('one', id, { upload: GRANT, ...changes })
      await keys.insert(key('one', 'other'), { now: NOW, maxKeys: 1 })
      assert.equal(await keys.insert(token('t1', { expiresAt: NOW + 1 }), { now: NOW, maxKeys: 1 }), 'inserted')
      assert.equal(await keys.insert(token('t2'), { now: NOW, maxKeys: 1 }), 'too_many')
      assert.equal(await keys.insert(token('t2'), { now: NOW + 1, maxKeys: 1 }), 'inserted')
      assert.equal(await keys.insert(key('one', 'third'), { now: NOW, maxKeys: 1 }), 'too_many')
      assert.deepEqual(await walk(request => keys.list('one', request), 10), ['other'])
      assert.deepEqual(await walk(request => keys.list('one', { ...request, isUpload: true }), 1), ['t1', 't2'])
      assert.deepEqual((await keys.findByName('one', 't2'))?.upload, GRANT)
      assert.deepEqual([(await keys.findByName('one', 't2'))?.uses, await keys.uses('t2')], [0, 0])
      assert.deepEqual([await keys.uses('other'), await keys.uses('nobody')], [null, null])
    },
  },
  {
    name: 'keeps a limited number of expired keys',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const surplus = 3
      for (let i = 0; i < EXPIRED_KEYS_KEPT + surplus; i++) {
        await keys.insert(key('one', `k${i}`, { expiresAt: NOW + i, createdAt: i }), { now: NOW - 1, maxKeys: null })
      }
      await keys.insert(key('one', 'last', { createdAt: 1_000 }), { now: NOW + 1_000, maxKeys: 1 })
      const left = await walk(request => keys.list('one', request), 1_000)
      assert.equal(left.length, EXPIRED_KEYS_KEPT + 1)
      assert.deepEqual([left[0], left.at(-1)], [`k${surplus}`, 'last'])
    },
  },
  {
    name: 'revokes a key with all keys created from it, and no others',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      await keys.insert(key('one', 'root'), UNLIMITED)
      await keys.insert(key('one', 'child', { parentId: 'root' }), UNLIMITED)
      await keys.insert(key('one', 'grandchild', { parentId: 'child' }), UNLIMITED)
      await keys.insert(key('one', 'beside'), UNLIMITED)
      assert.equal((await keys.findByName('one', 'grandchild'))?.parent, 'child')
      assert.equal(await keys.insert(key('one', 'orphan', { parentId: 'nobody' }), UNLIMITED), 'no_parent')
      assert.equal(await keys.revoke('root'), 3)
      assert.equal(await keys.revoke('root'), 0)
      assert.deepEqual(await walk(request => keys.list('one', request), 10), ['beside'])
      assert.equal(await keys.findByHash(key('one', 'grandchild').hash), null)
    },
  },
  {
    name: 'creates no key from an expired or concurrently revoked key',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      await keys.insert(key('one', 'root', { expiresAt: NOW + 1 }), UNLIMITED)
      const late = { now: NOW + 1, maxKeys: null }
      assert.equal(await keys.insert(key('one', 'late', { parentId: 'root' }), late), 'no_parent')
      await Promise.all([keys.revoke('root'), keys.insert(key('one', 'racing', { parentId: 'root' }), UNLIMITED)])
      assert.deepEqual(await walk(request => keys.list('one', request), 10), [])
    },
  },
  {
    name: 'adopts a new secret, and keeps the key and its child keys',
    async run({ accounts, keys }) {
      await accounts.insert(account('one'), null)
      const first = key('one', 'first', { name: 'bootstrap' })
      assert.deepEqual(await keys.adopt(first), { ...first, parent: null, uses: 0 })
      await keys.insert(key('one', 'minted', { parentId: 'first' }), UNLIMITED)
      const second = key('one', 'second', { name: 'bootstrap' })
      const rotated = await keys.adopt(second)
      assert.deepEqual([rotated.id, Buffer.from(rotated.hash)], ['first', Buffer.from(second.hash)])
      assert.equal(await keys.findByHash(first.hash), null)
      assert.equal((await keys.findByName('one', 'minted'))?.parent, 'bootstrap')
      assert.equal((await keys.adopt({ ...second, accountId: 'other', name: 'x' })).id, 'first')
      assert.equal(await keys.findByName('other', 'x'), null)
    },
  },
  {
    name: 'enables a second factor only with the pending secret',
    async run({ accounts, secondFactors }) {
      await accounts.insert(account('one'), null)
      const [former, secret] = [Buffer.from('former'), Buffer.from('secret')]
      assert.equal(await secondFactors.begin('nobody', secret), 'no_account')
      await secondFactors.begin('one', former)
      assert.equal(await secondFactors.begin('one', secret), 'begun')
      assert.equal(await secondFactors.enable('one', { secret: former, step: 5 }, NOW, []), false)
      assert.equal(await secondFactors.useStep('one', { secret, step: 5 }), false)
      assert.equal(await secondFactors.enable('one', { secret, step: 5 }, NOW, []), true)
      assert.equal(await secondFactors.begin('one', former), 'enabled')
      const row = await secondFactors.get('one')
      assert.deepEqual([row?.enabledAt, row?.lastStep], [NOW, 5])
      assert.deepEqual([await secondFactors.disable('one'), await secondFactors.disable('one')], [true, false])
      assert.equal(await secondFactors.get('one'), null)
    },
  },
  {
    name: 'lets only one of a concurrent new secret and an enabling succeed',
    async run({ accounts, secondFactors }) {
      await accounts.insert(account('one'), null)
      const [former, secret] = [Buffer.from('former'), Buffer.from('secret')]
      for (let step = 0; step < 5; step++) {
        await secondFactors.begin('one', former)
        const [isEnabled, begun] = await Promise.all([
          secondFactors.enable('one', { secret: former, step }, NOW, []),
          secondFactors.begin('one', secret),
        ])
        assert.equal(begun, isEnabled ? 'enabled' : 'begun')
        const row = await secondFactors.get('one')
        assert.deepEqual([row && Buffer.from(row.secret), row?.enabledAt], isEnabled ? [former, NOW] : [secret, null])
        assert.equal(await secondFactors.disable('one'), isEnabled)
      }
    },
  },
  {
    name: 'refuses a used code and every older code',
    async run({ accounts, secondFactors }) {
      await accounts.insert(account('one'), null)
      const secret = Buffer.from('secret')
      const hash = Buffer.from('recovery')
      await secondFactors.begin('one', secret)
      await secondFactors.enable('one', { secret, step: 5 }, NOW, [hash])
      const used = await Promise.all([6, 6].map(step => secondFactors.useStep('one', { secret, step })))
      assert.deepEqual(used.toSorted(), [false, true])
      assert.equal(await secondFactors.useStep('one', { secret, step: 5 }), false)
      const recovered = await Promise.all([hash, hash].map(code => secondFactors.useRecoveryCode('one', code)))
      assert.deepEqual(recovered.toSorted(), [false, true])
    },
  },
  {
    name: 'hides a deleted account at once, and removes its row last',
    async run({ accounts, keys, sessions, secondFactors }) {
      await accounts.insert(account('one'), 'hash')
      await keys.insert(key('one', 'k1'), UNLIMITED)
      await keys.insert(key('one', 'k2'), UNLIMITED)
      await sessions.begin(session('one', 's1'), { now: NOW, passwordHash: 'hash' })
      await secondFactors.begin('one', Buffer.from('secret'))
      assert.equal(await accounts.purge('one', 10), false)
      assert.equal((await keys.list('one', { after: null, limit: 10 })).rows.length, 2)
      assert.equal(await accounts.markDeleted('one', NOW), 'marked')
      assert.equal(await accounts.markDeleted('one', NOW), 'no_account')
      assert.deepEqual([await accounts.get('one'), await accounts.findByEmail('one@example.org')], [null, null])
      assert.deepEqual([(await accounts.slice(0, 10)).total, await accounts.passwordHash('one')], [0, null])
      assert.equal(await accounts.insert({ ...account('again'), email: 'one@example.org' }, null), 'inserted')
      assert.equal(await keys.insert(key('one', 'k3'), UNLIMITED), 'no_account')
      assert.equal(await sessions.begin(session('one', 's2'), { now: NOW, passwordHash: 'hash' }), 'stale')
      assert.equal(await accounts.change('one', { plan: 'free' }), 'no_account')
      assert.equal(await secondFactors.get('one'), null)
      assert.deepEqual(await accounts.deleted(10), ['one'])
      assert.deepEqual([await accounts.forget('one'), await accounts.forget('again')], [false, false])
      assert.equal(await accounts.purge('one', 1), true)
      while (await accounts.purge('one', 1));
      assert.deepEqual([await accounts.forget('one'), await accounts.deleted(10)], [true, []])
      assert.equal((await accounts.get('again'))?.id, 'again')
    },
  },
]

function account(id: string): Account {
  const rest = { ...PLAIN_ACCOUNT, plan: 'free', createdAt: 1 }
  return { id, email: `${id}@example.org`, ...rest }
}

function key(accountId: string, id: string, changes: Partial<NewKeyRow> = {}): NewKeyRow {
  return {
    ...{ id, accountId, parentId: null, name: id, label: null, hash: Buffer.from(`hash of ${id}`), prefix: 'hf_' },
    ...{ scopes: [], ipAllowlist: [], createdAt: 1, expiresAt: null, lastUsedAt: null, upload: null },
    ...changes,
  }
}

function linkOf(accountId: string, token: string) {
  return { accountId, hash: Buffer.from(token), expiresAt: NOW + 1_000 }
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text)
}

function session(accountId: string, id: string): Session {
  return { id, accountId, createdAt: NOW, expiresAt: NOW + 1_000, provedAt: null }
}

/** Returns the ids of a whole list, read page by page. */
async function walk(
  list: (request: PageRequest) => Promise<Page<{ id: string }>>,
  limit: number,
  after: string | null = null,
): Promise<string[]> {
  const ids: string[] = []
  let next: string | null = after
  do {
    const page: Page<{ id: string }> = await list({ after: next, limit })
    assert.ok(page.rows.length <= limit)
    ids.push(...page.rows.map(({ id }) => id))
    next = page.next
  } while (next !== null)
  return ids
}
