/**
 * Makes a webhook and a record, and kills itself while the receiver refuses. Arguments: the data directory, the URL of the
 * receiver, and the URL of a database or an empty text.
 */
import { serverAdapters } from '../../../adapters/cli/server-adapters.ts'
import { createEngine, SCOPES } from '../../../src/index.ts'
import { callApi } from '../../support/api-call.ts'
import { TWO_CLUSTERS } from '../../support/fleet.ts'

const [dataDir = '', url = '', database = ''] = process.argv.slice(2)
const node = { id: 'a', url: 'http://127.0.0.1:9' }
const shared = database === '' ? {} : { ...TWO_CLUSTERS, database, node }
const engine = await createEngine({ ...serverAdapters, dataDir, webhooks: { allowPrivate: true }, ...shared })
const { id: account } = await engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
const { secret } = await engine.keys.create(account, { name: 'key', scopes: SCOPES })
const body = JSON.stringify({ url })
const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', body }
await callApi(engine, 'POST', '/webhooks', headers)
await engine.pins.upload('content', { account })
process.kill(process.pid, 'SIGKILL')
