import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { createEngine, type Engine, type EngineOptions, SCOPES } from '../../src/index.ts'
import { carOf } from '../content/car/support/cars.ts'
import { randomFile } from '../pins/fetches/support/dags.ts'
import { callApi } from './api-call.ts'
import { pseudoRandom } from './bytes.ts'
import { ManualClock } from './manual-clock.ts'

export interface Filled {
  clock: ManualClock
  accounts: string[]
  keys: string[]
  /** Token of a live session of the first account. */
  token: string
  /** Secret of the first account's second factor. */
  secret: Buffer
  recoveryCodes: string[]
}

const PASSWORD = 'correct horse battery staple'
const json = (value: object): string => JSON.stringify(value)

/** Fills a data directory with at least one row of everything that a catalogue stores, and closes it. */
export async function fillDirectory({ dataDir }: Pick<EngineOptions, 'dataDir'>): Promise<Filled> {
  const clock = new ManualClock()
  const engine = await createEngine({
    dataDir,
    clock,
    passwordCost: 1_024,
    webhooks: { allowPrivate: true }, // feature: webhooks
  })
  const { accounts: people, keys: credentials, pins } = engine
  const accounts: string[] = []
  for (const name of ['One', 'two', 'gone']) {
    const email = `${name}@Example.org`
    accounts.push((await people.create({ email, plan: 'unlimited', password: PASSWORD })).id)
  }
  const [one = '', two = '', gone = ''] = accounts
  const keys: string[] = []
  for (const account of accounts) {
    keys.push((await credentials.create(account, { name: 'all', scopes: SCOPES, ipAllowlist: ['127.0.0.1'] })).secret)
  }
  const upload = { name: 'token', maxUses: 5, expiresInSeconds: 86_400 }
  keys.push((await credentials.create(two, upload)).secret)
  const login = await callApi(engine, 'POST', '/auth/login', { ...JSON_BODY, body: json(credentialsOf('one')) })
  const token = String(login.json.token)
  const setUp = await asKey(engine, token, 'POST', '/auth/2fa/setup')
  const secret = fromBase32(String(setUp.json.secret))
  const code = totpCode(secret, totpStep(clock.now()))
  const enabled = await asKey(engine, token, 'POST', '/auth/2fa/enable', { code })
  await asKey(engine, keys[1], 'POST', '/webhooks', { url: 'http://127.0.0.1:9/told' }) // feature: webhooks
  for (const [i, account] of [one, two, gone, one, two, one].entries()) {
    const name = i % 2 === 0 ? `Straße "${i}" {a,b}\\` : `plain ${i}.txt`
    await pins.upload(pseudoRandom(i < 2 ? 200 : 70_000 * i, `same ${i % 4}`), {
      ...{ account, name, meta: { project: 'moves', nr: String(i) } },
      ...(i % 3 === 0 && { timelock: new Date(clock.now() + 3_600_000 * (i + 1)) }),
    })
    clock.advance(10)
  }
  const files = Array.from({ length: 1_200 }, (_, i) => ({
    ...{ kind: 'file' as const, path: `d${i % 7}/f${i}`, content: [pseudoRandom(50, `${i}`)] },
  }))
  await pins.uploadDirectory(files, { account: one, name: 'tree' })
  const file = randomFile(4, 50_000, 'in part')
  const car = await carOf([file.root], [...file.blocks.slice(0, 1), ...file.blocks.slice(3)])
  await pins.importCar(car, { account: two, name: 'in part', allowPartial: true })
  await people.delete(gone)
  await engine.stop()
  const recoveryCodes = enabled.json.recoveryCodes as string[]
  return { clock, accounts, keys, token, secret, recoveryCodes }
}

/** Returns everything that the API shows about the accounts of a filled directory. */
export async function factsOf(engine: Engine, { accounts, keys, token }: Filled): Promise<object> {
  const facts: Record<string, unknown> = { people: await engine.accounts.list() }
  for (const account of accounts.slice(0, 2)) {
    const { items } = await engine.pins.list({ account, limit: 100 })
    const trees = items.filter(({ type }) => type === 'directory')
    facts[account] = {
      items,
      usage: await engine.pins.usage(account),
      expiring: (await engine.pins.list({ account, hasExpiration: true })).items.map(({ uploadId }) => uploadId),
      found: (await engine.pins.list({ account, q: 'STRASSE "' })).items.map(({ uploadId }) => uploadId),
      folded: (await engine.pins.list({ account, q: 'straße' })).items.map(({ uploadId }) => uploadId),
      meta: (await engine.pins.list({ account, meta: { nr: '4' } })).items.map(({ uploadId }) => uploadId),
      files: await Promise.all(
        trees.map(async ({ cid }) => (await engine.pins.list({ account, parentCid: cid, page: 13, limit: 100 })).items),
      ),
      // The time of a key's last use is written late, so two readings may differ.
      keys: (await engine.keys.list(account)).map(({ lastUsedAt: _, ...key }) => key),
    }
  }
  facts.webhooks = (await asKey(engine, keys[1], 'GET', '/webhooks')).json // feature: webhooks
  facts.mine = await Promise.all(
    [keys[0], keys[1], keys[2], token].map(async key => (await asKey(engine, key, 'GET', '/users/me')).status),
  )
  return facts
}

/** Signs in with a password and a code, with a password and a recovery code, and with a password alone. */
export async function signIn(engine: Engine, filled: Filled): Promise<number[]> {
  const codes = [totpCode(filled.secret, totpStep(filled.clock.now()) + 1), filled.recoveryCodes[0] ?? '']
  const answers: number[] = []
  for (const code of codes) {
    const first = await callApi(engine, 'POST', '/auth/login', { ...JSON_BODY, body: json(credentialsOf('ONE')) })
    const { temporaryToken } = first.json as { temporaryToken: string }
    const body = json({ temporaryToken, code })
    answers.push((await callApi(engine, 'POST', '/auth/2fa/verify-login', { ...JSON_BODY, body })).status)
  }
  const plain = await callApi(engine, 'POST', '/auth/login', { ...JSON_BODY, body: json(credentialsOf('two')) })
  return [...answers, plain.status]
}

const JSON_BODY = { 'content-type': 'application/json' }

function credentialsOf(name: string): object {
  return { email: `${name}@example.org`, password: PASSWORD }
}

function asKey(engine: Engine, key: string | undefined, method: string, path: string, body?: object) {
  const given = body === undefined ? {} : { ...JSON_BODY, body: json(body) }
  return callApi(engine, method, path, { authorization: `Bearer ${key}`, ...given })
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map(letter => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map(byte => Number.parseInt(byte, 2)))
}
