import { createEngine, type Engine, SCOPES } from '../../../src/index.ts'
import { withDatabase } from '../../support/store-inspection.ts'

/** Address that refuses connections. */
const NOBODY = 'http://127.0.0.1:9/'
const OPTIONS = { bulk: { undoSeconds: 604_800 }, webhooks: { allowPrivate: true } }
/** Queries for the rows of each feature that has some. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  audit: ['SELECT key, action, outcome, subject FROM audit'],
  bulk: ['SELECT id, action, phase, done, failures FROM bulk_changes', 'SELECT id, cid, name FROM removed_records'],
  webhooks: ['SELECT id, url, secret FROM webhooks', 'SELECT id, webhook_id, event, record FROM deliveries'],
}
/** Paths that list what an account has of each feature. */
const LISTS: Readonly<Record<string, string>> = {
  bulk: '/api/v3/jobs',
  psa: '/psa/pins',
  webhooks: '/api/v3/webhooks',
}

/** Fills a data directory with rows of every feature. Returns a key of their account. */
export async function fillFeatures(dataDir: string): Promise<string> {
  const engine = await createEngine({ ...OPTIONS, dataDir })
  const { id } = await engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
  const { secret } = await engine.keys.create(id, { name: 'first', scopes: SCOPES })
  const made = await ask(engine, secret, 'POST', '/api/v3/tokens/generate', { name: 'second' })
  const hook = await ask(engine, secret, 'POST', '/api/v3/webhooks', { url: NOBODY })
  const [gone] = await Promise.all(['gone', 'kept'].map(name => engine.pins.upload(name, { account: id, name })))
  const ids = [gone?.record.uploadId]
  const job = await ask(engine, secret, 'POST', '/api/v3/jobs', { action: 'delete', ids })
  const statuses = [made, hook, job].map(({ status }) => status)
  if (statuses.some(status => status >= 300)) throw new Error(`filling failed: ${statuses.join(', ')}`)
  for (let left = 1; left > 0; ) {
    await new Promise(resolve => setImmediate(resolve))
    left = (await ask(engine, secret, 'GET', '/api/v3/jobs')).json.jobs.filter(isRunning).length
  }
  await engine.stop()
  return secret
}

const isRunning = ({ state }: { state: string }): boolean => state === 'running'

/** Returns the rows of a feature. No engine has the directory. */
export function rowsOf(feature: string, dataDir: string): object[][] {
  return withDatabase(dataDir, db => (ROWS[feature] ?? []).map(query => db.prepare<[], object>(query).all()))
}

/** Returns the ids of what an account sees of a feature. */
export async function seenOf(feature: string, dataDir: string, key: string): Promise<string[]> {
  const path = LISTS[feature]
  if (path === undefined) return []
  const engine = await createEngine({ ...OPTIONS, dataDir })
  try {
    const text = JSON.stringify((await ask(engine, key, 'GET', path)).json)
    return [...text.matchAll(/"(?:id|requestid)":"([^"]+)"/g)].map(([, id = '']) => id).sort()
  } finally {
    await engine.stop()
  }
}

async function ask(engine: Engine, key: string, method: string, path: string, body?: object) {
  const headers: Record<string, string> = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await engine.api({
    ...{ method, path, query: '', header: (name: string) => headers[name], remoteAddress: '127.0.0.1' },
    body: (async function* () {
      if (body !== undefined) yield Buffer.from(JSON.stringify(body))
    })(),
    signal: new AbortController().signal,
  })
  return { status: response.status, json: JSON.parse(String(response.body)) }
}
