import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { HoldfastBackend } from '../../../adapters/holdfast/holdfast-backend.ts'
import { openHttpClient, type SendHttp } from '../../../adapters/remote/http-client.ts'
import { HoldfastError } from '../../../src/index.ts'
import { cidOf, identityOf } from '../../../src/ipld/cid.ts'
import { type BackendUnderTest, backendRules, describeBackend, Outside } from '../../clusters/backend.suite.ts'
import { statusOf, type TwoNodes, until, withTwoNodes } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { withDatabase } from '../../support/store-inspection.ts'

/** Runs with a backend on the other node, which reports its own state. */
async function withRemote(
  run: (backend: HoldfastBackend, nodes: TwoNodes) => Promise<void>,
  lies: (right: SendHttp, nodes: TwoNodes) => SendHttp = right => right,
): Promise<void> {
  await withTwoNodes(async nodes => {
    const http = openHttpClient()
    const { key, url } = nodes.there
    const backend = new HoldfastBackend({
      ...{ id: 1, url, key, cluster: 'cl1-eu', mark: 'holdfast:test', reader: readerThere(nodes) },
      send: lies(http.send, nodes),
    })
    try {
      await run(backend, nodes)
    } finally {
      await http.close()
    }
  })
}

/** Reads by the other node's gateway without verification: the caller verifies. */
function readerThere({ there }: TwoNodes) {
  return {
    read: async (cid: CID): Promise<Uint8Array> => {
      const answer = await fetch(`${there.url.replace('/api/v3', '')}/ipfs/${cid}?format=raw`)
      if (answer.status !== 200) throw new HoldfastError('NOT_FOUND', `block ${cid} is not there`)
      return Buffer.from(await answer.arrayBuffer())
    },
  }
}

function underTest(backend: HoldfastBackend, nodes: TwoNodes): BackendUnderTest {
  const { there } = nodes
  return {
    backend,
    keep: async content => {
      const { record } = await there.engine.pins.upload(content, { account: there.account, name: 'x' })
      const root = CID.parse(record.cid)
      await backend.pin({ hold: 'record', root, source: readerThere(nodes), origins: [] })
      await there.engine.pins.remove({ account: there.account, cid: record.cid, cluster: 'cl0-global' })
      return root
    },
    release: cid => backend.unpin('record', identityOf(cid)),
    collect: async () => {
      const count = (what: string): number =>
        withDatabase(there.dataDir, db => {
          return db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${what}`).get()?.count ?? -1
        })
      // The node notices a closed connection after a moment.
      await until('uploads have ended', () => count("roots WHERE state = 'staging'") === 0)
      await there.engine.collect({ graceSeconds: 0 })
      return count('blocks')
    },
  }
}

describeBackend('another Holdfast, over HTTP', run => {
  return withRemote((backend, nodes) => run(underTest(backend, nodes)))
})

test('lists each remote pin once during removals', async () => {
  await withRemote(async (backend, { there }) => {
    const { account, engine } = there
    const holds = Array.from({ length: 230 }, (_, n) => `hold-${n}`)
    const upload = (customName: string, cluster = 'cl1-eu') =>
      engine.pins.upload(pseudoRandom(50, customName), { account, cluster, customName })
    // Many records have the same millisecond.
    await Promise.all([
      ...holds.map(hold => upload(`holdfast:test ${hold}`)),
      ...['somebody’s', 'holdfast:other hold-1', 'holdfast:test released'].map(name => upload(name)),
      upload('holdfast:test another cluster', 'cl0-global'),
    ])
    const told: string[] = []
    for await (const page of backend.pins()) {
      told.push(...page.map(({ hold }) => hold))
      if (told.length > 100) continue
      // The records of the first page are removed, and later pages move up.
      for (const pin of page) await engine.pins.remove({ account, cid: cidOf(pin).toString() })
    }
    expect(told.length).toBeGreaterThan(100)
    expect(told.toSorted()).toEqual(holds.toSorted())
  })
})

/** Faults of a node, with the rule that detects each. */
const wrong: ReadonlyArray<[what: string, lies: (right: SendHttp, nodes: TwoNodes) => SendHttp, rule: RegExp]> = [
  [
    'says that it has taken what it has not',
    right => request =>
      request.url.includes('/files/car') ? Promise.resolve({ status: 201, text: '{}' }) : right(request),
    /^gives blocks/,
  ],
  [
    'forgets what it has taken',
    (right, { there }) =>
      async request => {
        const answer = await right(request)
        if (!request.url.includes('/files/car')) return answer
        for (const { cid } of (await there.engine.pins.list({ account: there.account })).items) {
          await there.engine.pins.remove({ account: there.account, cid })
        }
        return answer
      },
    /^gives blocks/,
  ],
  [
    'answers with what it has answered before',
    right => {
      const answers = new Map<string, Awaited<ReturnType<SendHttp>>>()
      return async request => {
        const known = answers.get(request.url)
        if (request.method === 'GET' && known !== undefined) return known
        const answer = await right(request)
        answers.set(request.url, answer)
        return answer
      }
    },
    /^asks before it lets go/,
  ],
]

describe('the rules detect a node that', () => {
  test.each(wrong)('%s', async (_, lies, expected) => {
    const rule = backendRules.find(({ name }) => expected.test(name))
    if (rule === undefined) throw new Error(`there is no rule ${expected}`)
    await withRemote(async (backend, nodes) => {
      await expect(rule.run(underTest(backend, nodes))).rejects.toThrow()
    }, lies)
  })
})

const CONTENT = pseudoRandom(300_000, 'not as it should be')

describe('an account that the other node keeps private by default', () => {
  test('gets public records, so that the content is read back', async () => {
    await withTwoNodes(async nodes => {
      const { here, there, account } = nodes
      await there.engine.accounts.setDefaultVisibility(there.account, 'private')
      const { record } = await here.pins.upload(CONTENT, { account, cluster: 'far' })
      await until('it is pinned', async () => (await statusOf(nodes, record.cid)) === 'pinned')
      expect((await readerThere(nodes).read(CID.parse(record.cid))).length).toBeGreaterThan(0)
    })
  })

  test('a record made private counts as lost, and is made again', async () => {
    await withRemote(async (backend, { there, ...nodes }) => {
      const { account, engine } = there
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      const job = { hold: 'record', root, source: outside, origins: [] }
      const state = async () => (await backend.status(identityOf(root))).state
      await backend.pin(job)
      const [record] = (await engine.pins.list({ account })).items
      if (record === undefined) throw new Error('the other node has no record')
      await engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility: 'private' })
      expect(await state()).toBe('unpinned')

      await backend.pin(job)
      expect(await state()).toBe('pinned')
      expect((await readerThere({ there, ...nodes }).read(root)).length).toBeGreaterThan(0)

      await backend.unpin('record', identityOf(root))
      expect((await engine.pins.list({ account })).total).toBe(0)
    })
  })
})

describe('a remote node with faults', () => {
  test('is not trusted if it reports an upload it did not store', async () => {
    await withTwoNodes(async nodes => {
      const { here, there, account } = nodes
      let lies = 0
      there.gate = ({ method, url }, response) => {
        if (method !== 'POST' || url?.includes('/files/car') !== true) return
        lies++
        response.writeHead(201, { 'content-type': 'application/json' }).end('{"status":"pinned"}')
      }
      const { record } = await here.pins.upload(CONTENT, { account, cluster: 'far' })
      await until('it has lied', () => lies > 1)
      expect(await statusOf(nodes, record.cid)).toBe('pinning')
      there.gate = () => undefined
      await until('it is pinned', async () => (await statusOf(nodes, record.cid)) === 'pinned')
    })
  })

  test('has one record of a repeated CAR; invalid answers are refused', async () => {
    await withTwoNodes(async nodes => {
      const { here, there, account } = nodes
      let nonsense = 2
      there.gate = ({ method }, response) => {
        if (method === 'GET' && nonsense-- > 0) response.writeHead(200).end('{"uploads": 1}')
      }
      const { record } = await here.pins.upload(CONTENT, { account, cluster: 'far' })
      await until('it is pinned', async () => (await statusOf(nodes, record.cid)) === 'pinned')
      expect((await there.engine.pins.list({ account: there.account })).total).toBe(1)
    })
  })
})
