import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkConfig, type Engine } from '../../src/index.ts'
import { carOf } from '../content/car/support/cars.ts'
import { directoryOf, leaf } from '../pins/fetches/support/dags.ts'
import { hasPostgres, needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { withEngine } from '../support/test-engine.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const TEXTS = ['a\u0000', 'a\ud800']

/** Calls with a bad text, by the field that the error must name. */
function callsOf({ pins, accounts, keys, clusters, takedowns }: Engine, account: string, text: string) {
  return {
    account: () => pins.list({ account: text }),
    uploadId: () => pins.get({ account, uploadId: text }),
    cid: () => pins.remove({ account, cid: text }),
    cluster: () => pins.status({ account, cid: CID, cluster: text }),
    customName: () => pins.upload([], { account, customName: text }),
    'meta.b': () => pins.pin({ account, cid: CID, meta: { a: 'a', b: text } }),
    'the key': () => pins.pin({ account, cid: CID, meta: { [text]: 'a' } }),
    'origins.0': () => pins.pin({ account, cid: CID, origins: [text] }),
    q: () => pins.list({ account, q: text }),
    'cids.0': () => pins.list({ account, cids: [text] }),
    'argument 1 of usage': () => pins.usage(text),
    'argument 1 of importDirectory': () => pins.importDirectory(text, { account }),
    'argument 1 of get': () => accounts.get(text),
    'argument 1 of find': () => accounts.find(text),
    'argument 2 of setPlan': () => accounts.setPlan(account, text),
    email: () => accounts.create({ email: text, plan: 'free' }),
    name: () => accounts.setProfile(account, { name: text }),
    'argument 2 of revokeByName': () => keys.revokeByName(account, text),
    label: () => keys.create(account, { name: 'key', label: text }),
    'argument 1 of backendOf': () => clusters.backendOf(text),
    reason: () => takedowns.add({ cid: CID, reason: text }),
    path: () => takedowns.remove({ cid: CID, path: text }),
  }
}

describe('a text that some catalogues cannot store', () => {
  let server: SharedPostgres | undefined
  beforeAll(async () => {
    if (hasPostgres) server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const catalogues = [
    { name: 'SQLite', options: async () => ({}), needs: {} },
    {
      name: 'PostgreSQL',
      options: async () => ({ database: await (server as SharedPostgres).migrated() }),
      needs: needsPostgres,
    },
  ]

  describe.each(catalogues)('with a catalogue in $name', ({ options, needs }) => {
    test('is refused in a call, naming the field', needs, async () => {
      await withEngine(
        async ({ engine, account }) => {
          for (const text of TEXTS) {
            for (const [field, call] of Object.entries(callsOf(engine, account, text))) {
              const message = expect.stringContaining(`${field}`)
              await expect(call(), field).rejects.toMatchObject({ code: 'VALIDATION', message })
            }
            expect(() => engine.pins.all({ account: text })).toThrow('account must not contain')
          }
          expect((await engine.pins.list({ account })).total).toBe(0)
        },
        await options(),
      )
    })

    test('is listed as its mark if it is in a DAG', needs, async () => {
      const dag = directoryOf({ 'a\u0000b': leaf(Buffer.from('content')), c: leaf(Buffer.from('other')) })
      await withEngine(
        async ({ engine, account }) => {
          await engine.pins.importCar([await carOf([dag.root], dag.blocks)], { account })
          const { items } = await engine.pins.list({ account, parentCid: `${dag.root}` })
          expect(items.map(({ path }) => path)).toEqual(['a\uef00b', 'c'])
        },
        await options(),
      )
    })
  })

  test('is refused in a configuration, naming the field', async () => {
    await expect(checkConfig({ clusters: [{ id: 'one', label: 'a\u0000' }] })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('clusters.0.label: must not contain'),
    })
  })
})
