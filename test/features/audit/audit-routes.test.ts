import { describe, expect, test } from 'vitest'
import { allRoutes } from '../../../src/features/all-routes.ts'
import { type Engine, SCOPES } from '../../../src/index.ts'
import { readBody } from '../../gateway/client.ts'
import { type TestEngine, type TestEngineOptions, withEngine } from '../../support/test-engine.ts'

const PASSWORD = 'correct horse battery staple'
const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'

/** Routes that change something, but that the audit log does not record, and why. */
const UNRECORDED: ReadonlyArray<[route: RegExp, why: string]> = [
  [
    / \/(files|pins)\/|^POST \/(files|pins)$|^DELETE \/users\/me\/uploads\//,
    'content, for which nothing more may be written',
  ],
  [/ \/auth\/provider\/start$/, 'begins a sign-in, whose end is recorded'],
  [/ \/plans\/change$| \/users\/me\/preferences$| \/payments| \/api\/v[12]\//, 'always refused'],
]

interface Asked {
  secret?: string
  json?: object
  address?: string
  headers?: Record<string, string>
}

async function ask(engine: Engine, route: string, { secret, json, address, headers = {} }: Asked = {}) {
  const [method = '', target = ''] = route.split(' ')
  const [path = '', query = ''] = target.split('?')
  const sent: Record<string, string> = {
    ...headers,
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    ...(json !== undefined && { 'content-type': 'application/json' }),
  }
  const response = await engine.api({
    method,
    path,
    query,
    header: name => sent[name],
    body: (async function* () {
      if (json !== undefined) yield Buffer.from(JSON.stringify(json))
    })(),
    signal: new AbortController().signal,
    remoteAddress: address ?? '192.0.2.7',
  })
  const text = (await readBody(response)).bytes.toString()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: response.headers['content-type']?.startsWith('application/json') === true ? JSON.parse(text) : null,
  }
}

interface Owned extends TestEngine {
  owner: string
  secret: string
  entries(query?: string, engine?: Engine): Promise<Array<Record<string, unknown>>>
}

function withOwner(run: (test: Owned) => Promise<void>, options: TestEngineOptions = {}): Promise<void> {
  return withEngine(async test => {
    const { account } = await test.engine.accounts.ensureOwner()
    const { secret } = await test.engine.keys.create(account.id, { name: 'all', scopes: SCOPES })
    const entries = async (query = '', engine = test.engine) =>
      (await ask(engine, `GET /admin/v1/audit?${query}`, { secret })).json.entries
    await run(Object.assign(test, { owner: account.id, secret, entries }))
  }, options)
}

describe('the audit log of a node', () => {
  test('names an action for each route that changes anything but content', async () => {
    const { groups, contract } = await allRoutes()
    const routes = groups.flatMap(({ base, routes }) => routes.map(route => ({ ...route, base })))
    const changing = routes.filter(({ method }) => method !== 'GET')
    const unrecorded = changing.filter(({ audit }) => audit === undefined).map(one => `${one.method} ${one.path}`)
    expect(unrecorded.filter(route => !UNRECORDED.some(([known]) => known.test(route)))).toEqual([])
    expect(changing.length - unrecorded.length).toBeGreaterThan(30)
    // Both nodes would record a forwarded request.
    expect(routes.filter(({ audit, goesTo }) => audit !== undefined && goesTo !== undefined)).toEqual([])
    expect(contract.filter(({ audit, method }) => audit !== undefined && method === 'GET')).toEqual([])
  })

  test('has who did what, from where, with which outcome', () =>
    withOwner(async ({ engine, owner, secret, account, entries }) => {
      const [key] = await engine.keys.list(owner)
      const made = await ask(engine, 'POST /admin/v1/accounts', {
        secret,
        json: { email: 'a@example.org', plan: 'free' },
      })
      await ask(engine, `PUT /admin/v1/accounts/${account}/plan`, { secret, json: { plan: 'free' } })
      await ask(engine, 'POST /admin/v1/takedowns', { secret, json: { cid: CID, reason: 'spam' } })
      await ask(engine, `DELETE /admin/v1/takedowns/${CID}`, { secret })
      await ask(engine, 'POST /api/v3/tokens/generate', {
        secret: made.json.token,
        json: { name: 'mine', scopes: ['files:read'] },
      })
      await ask(engine, 'DELETE /admin/v1/accounts/nobody', { secret: made.json.token, address: '2001:db8::9' })
      const rows = await entries()
      const by = { account: owner, email: 'owner@localhost', actor: 'owner', credential: 'key', address: '192.0.2.7' }
      expect(rows.map(({ action, outcome, subject }) => [action, outcome, subject])).toEqual([
        ['account.delete', 'OWNER_REQUIRED', null],
        ['key.create', 'ok', 'mine'],
        ['takedown.lift', 'ok', CID],
        ['takedown.add', 'ok', CID],
        ['account.plan', 'ok', account],
        ['account.create', 'ok', made.json.id],
      ])
      for (const row of rows.slice(2)) expect(row).toMatchObject({ ...by, credentialId: key?.id })
      expect(rows[0]).toMatchObject({ actor: 'account', account: made.json.id, address: '2001:db8::9' })
      expect((await entries('action=key.create&outcome=ok')).map(({ subject }) => subject)).toEqual(['mine'])
      expect(await entries(`account=${made.json.id}`)).toHaveLength(2)
      expect(await entries(`account=${encodeURIComponent(made.json.email)}`)).toHaveLength(2)
      for (const query of [
        'action=everything',
        'from=yesterday',
        'format=xml',
        `account=${'x'.repeat(101)}`,
        'account=nobody@example.org',
      ]) {
        const { status, json } = await ask(engine, `GET /admin/v1/audit?${query}`, { secret })
        expect([status, json.message.startsWith(query.split('=')[0])], query).toEqual([400, true])
      }
    }))

  test('has sign-ins, and counts the failed ones', () =>
    withOwner(async ({ engine, owner, entries, restart }) => {
      await engine.accounts.setPassword(owner, PASSWORD)
      const signIn = (password: string, email = 'owner@localhost') =>
        ask(engine, 'POST /api/v3/auth/login', { json: { email, password } })
      for (let i = 0; i < 3; i++) await signIn('wrong')
      await signIn('wrong', 'nobody@example.org')
      const { json } = await signIn(PASSWORD)
      await ask(engine, 'POST /api/v3/auth/logout', { secret: json.token })
      await ask(engine, 'POST /api/v3/auth/logout', { secret: 'hf_wrong' })
      const rows = await entries('', await restart())
      const shown = rows.map(row => [row.actor, row.action, row.outcome, row.account, row.times, row.credential])
      expect(shown.toSorted()).toEqual(
        [
          ['owner', 'sign-in', 'ok', owner, 1, null],
          ['owner', 'sign-out', 'ok', owner, 1, 'session'],
          ['stranger', 'sign-in', 'INVALID_API_KEY', null, 1, null],
          ['stranger', 'sign-in', 'INVALID_API_KEY', owner, 3, null],
          ['stranger', 'sign-out', 'INVALID_API_KEY', null, 1, null],
        ].toSorted(),
      )
    }))

  test('has no secret', () =>
    withOwner(async ({ engine, owner, secret, clock }) => {
      await engine.accounts.setPassword(owner, PASSWORD)
      const secrets = [secret, PASSWORD, 'hf_guessed', 'my other password']
      const post = async (path: string, json: object, by?: string): Promise<Record<string, string>> => {
        const answer = await ask(engine, `POST ${path}`, { json, ...(by !== undefined && { secret: by }) })
        return answer.json ?? {}
      }
      await post('/api/v3/auth/login', { email: 'my other password', password: 'hf_guessed' })
      const session = (await post('/api/v3/auth/login', { email: 'owner@localhost', password: PASSWORD })).token ?? ''
      const made = (await post('/api/v3/tokens/generate', { name: 'k', scopes: ['files:read'] }, session)).token ?? ''
      await ask(engine, `DELETE /api/v3/tokens/revoke/${made}`, { secret: session })
      await post('/api/v3/tokens/revoke', { name: secret }, session)
      const factor = await post('/api/v3/auth/2fa/setup', {}, session)
      await ask(engine, `DELETE /api/v3/auth/sessions/${secret}`, { secret: session })
      const link = await post(`/admin/v1/accounts/${owner}/password-link`, {}, session)
      await post('/api/v3/auth/password', { token: link.token, password: 'a whole new password' })
      secrets.push(session, made, factor.secret ?? '', link.token ?? '', 'a whole new password')
      expect(secrets.every(text => text.length > 8)).toBe(true)
      clock.advance(5_000)
      const { text } = await ask(engine, 'GET /admin/v1/audit?format=jsonl', { secret })
      expect(text.trim().split('\n').length).toBeGreaterThan(8)
      for (const one of secrets) expect(text, one).not.toContain(one)
    }))

  test('records a streamed action at its end', () =>
    withOwner(async ({ engine, secret, entries }) => {
      const headers = { accept: 'application/x-ndjson' }
      await ask(engine, 'POST /admin/v1/verify', { secret, headers })
      const backup = { secret, headers, json: { directory: '/nowhere' } }
      expect((await ask(engine, 'POST /admin/v1/backup', backup)).status).toBe(200)
      await expect
        .poll(async () => (await entries()).map(({ action, outcome }) => [action, outcome]))
        .toEqual([
          ['node.backup', 'NOT_OFFERED'],
          ['node.verify', 'ok'],
        ])
    }))

  test('exports all pages, as lines of JSON and as CSV without formulas', () =>
    withOwner(async ({ engine, secret }) => {
      const evil = { email: '=1+1@example.org', plan: 'free' }
      const { json } = await ask(engine, 'POST /admin/v1/accounts', { secret, json: evil })
      for (const name of ['+1', '-1', '@x', '"quoted", and more', '＝2', 'plain']) {
        await ask(engine, 'POST /api/v3/tokens/generate', {
          secret: json.token,
          json: { name, scopes: ['files:read'] },
        })
      }
      const jsonl = await ask(engine, 'GET /admin/v1/audit?format=jsonl', { secret })
      const rows = jsonl.text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      const csv = await ask(engine, 'GET /admin/v1/audit?format=csv', { secret })
      expect([csv.headers['content-type'], csv.headers['content-disposition']]).toEqual([
        'text/csv; charset=utf-8',
        'attachment; filename="audit.csv"',
      ])
      expect(csv.text).toMatch(/^id,at,lastAt,times,actor,account,email,/)
      const cells = csv.text.split(/\r\n|,/)
      expect(cells.filter(cell => /^"?[=+\-@\t\r\uff1d]/.test(cell))).toEqual([])
      expect(csv.text).toContain(",'=1+1@example.org,")
      const made = rows.filter(({ outcome, action }) => outcome === 'ok' && action === 'key.create')
      for (const { subject } of made) expect(csv.text).toContain(subject.replaceAll('"', '""'))
      expect(made.length).toBeGreaterThan(0)
      expect(csv.text.match(/\r\n/g)).toHaveLength(rows.length + 1)
    }))

  test('keeps the number of entries that the configuration allows', () =>
    withOwner(
      async ({ engine, secret, entries }) => {
        for (let i = 0; i < 130; i++) await ask(engine, 'POST /admin/v1/gc', { secret, json: {} })
        expect(await entries('limit=1000')).toHaveLength(100)
      },
      { audit: { maxEntries: 100 } },
    ))

  test('writes nothing for an upload', () =>
    withOwner(async ({ engine, account, entries }) => {
      await engine.pins.upload(Buffer.from('x'), { account })
      const { secret } = await engine.keys.create(account, { name: 'all', scopes: SCOPES })
      await ask(engine, 'POST /api/v3/pins', { secret, json: { cid: CID } })
      await ask(engine, `DELETE /api/v3/pins/${CID}`, { secret })
      expect(await entries()).toEqual([])
    }))
})
