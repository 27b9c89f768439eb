import { expect, test } from 'vitest'
import { createEngine, type Engine } from '../src/index.ts'
import { callApi } from './support/api-call.ts'
import { newDirectory } from './support/new-database.ts'
import { withTempDir } from './support/temp-dir.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

/** Everything that a host program can ask of an engine, with what it would be asked for. */
const QUESTIONS: Readonly<Record<string, (engine: Engine, account: string) => unknown>> = {
  upload: ({ pins }, account) => pins.upload(Buffer.from('late'), { account }),
  uploadDirectory: ({ pins }, account) => pins.uploadDirectory((async function* () {})(), { account }),
  importDirectory: ({ pins }, account) => pins.importDirectory('.', { account }),
  importCar: ({ pins }, account) => pins.importCar((async function* () {})(), { account }),
  pin: ({ pins }, account) => pins.pin({ account, cid: CID }),
  remove: ({ pins }, account) => pins.remove({ account, cid: CID }),
  get: ({ pins }, account) => pins.get({ account, uploadId: 'x' }),
  all: ({ pins }, account) => pins.all({ account })[Symbol.asyncIterator]().next(),
  list: ({ pins }, account) => pins.list({ account }),
  status: ({ pins }, account) => pins.status({ account, cid: CID }),
  dag: ({ pins }, account) => pins.dag({ account, cid: CID }),
  rename: ({ pins }, account) => pins.rename({ account, uploadId: 'x', name: 'y' }),
  usage: ({ pins }, account) => pins.usage(account),
  checkTarget: ({ pins }, account) => pins.checkTarget(account, {}),
  'content.read': ({ content }) => content.read({ cid: CID }),
  'content.stat': ({ content }, account) => content.stat({ cid: CID, account }),
  'content.entries': ({ content }) => content.entries({ cid: CID })[Symbol.asyncIterator]().next(),
  'content.exportCar': ({ content }) => content.exportCar({ cid: CID }),
  'accounts.create': ({ accounts }) => accounts.create({ email: 'b@example.org', plan: 'free' }),
  'accounts.get': ({ accounts }, account) => accounts.get(account),
  'accounts.list': ({ accounts }) => accounts.list(),
  'accounts.setPlan': ({ accounts }, account) => accounts.setPlan(account, 'free'),
  'keys.create': ({ keys }, account) => keys.create(account, { name: 'late', scopes: ['files:read'] }),
  'keys.list': ({ keys }, account) => keys.list(account),
  'keys.revokeByName': ({ keys }, account) => keys.revokeByName(account, 'late'),
  'takedowns.page': ({ takedowns }) => takedowns.page({ limit: 1, after: null }),
  'takedowns.add': ({ takedowns }) => takedowns.add({ cid: CID, reason: 'late' }),
  'takedowns.remove': ({ takedowns }) => takedowns.remove({ cid: CID }),
  'events.once': ({ events }) => events.once('pin:created'),
  'clusters.list': ({ clusters }) => clusters.list(),
  'clusters.backendOf': ({ clusters }) => clusters.backendOf(),
  setPublicUrl: engine => engine.setPublicUrl('https://pins.example.org'),
  setGatewayPort: engine => engine.setGatewayPort(4101),
  shareReading: engine => engine.shareReading(),
  helia: engine => engine.helia(),
  addresses: engine => engine.addresses(),
  backup: engine => engine.backup(`${engine.dataDir}-late`),
  reconcile: engine => engine.reconcile(),
  collect: engine => engine.collect(),
  verify: engine => engine.verify(),
  stats: engine => engine.stats(),
}

test('an engine that has stopped answers everything with UNAVAILABLE', async () => {
  await withTempDir(async dataDir => {
    const engine = await createEngine({ dataDir: newDirectory(dataDir) })
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const waiting = expect(engine.events.once('pin:created')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await engine.stop()
    await waiting
    const wrong: string[] = []
    for (const [name, ask] of Object.entries(QUESTIONS)) {
      const outcome = await (async () => ask(engine, id))().then(
        () => 'an answer',
        error => (error as { code?: string }).code ?? String(error),
      )
      if (outcome !== 'UNAVAILABLE') wrong.push(`${name}: ${outcome}`)
    }
    expect(wrong).toEqual([])
    const answer = await callApi(engine, 'GET', '/health')
    expect([answer.status, answer.json.code]).toEqual([503, 'UNAVAILABLE'])
    await engine.stop()
  })
})
