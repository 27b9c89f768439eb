import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { type Account, SCOPES } from '../../../src/index.ts'
import { carOf } from '../../content/car/support/cars.ts'
import { form } from '../../contract/world.ts'
import { type Block, type Dag, directoryOf, leaf, leaves } from '../../pins/fetches/support/dags.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, openFleet, TWO_CLUSTERS } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** Larger than the part that is read to choose the node. */
const LARGE = 400_000

const unlimited = {
  timelock: true,
  clusters: '*' as const,
  maxFileBytes: null,
  maxDirectoryBytes: null,
  maxDirectoryFiles: null,
  maxStorageBytes: null,
  maxPins: null,
  pageLimit: { default: 100, max: 100 },
  rateLimit: null,
  accountRateLimit: null,
}
const plans = {
  all: unlimited,
  'first-only': { ...unlimited, clusters: ['first'] },
  full: { ...unlimited, maxStorageBytes: LARGE },
  'full-but-one': { ...unlimited, maxStorageBytes: LARGE - 1 },
}

type Parts = Parameters<typeof form>[0]
interface Sent {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
  json: any
}

describe('forms that name another node’s cluster after their files', needsPostgres, () => {
  let server: SharedPostgres
  let fleet: Awaited<ReturnType<typeof openFleet>>
  let a: FleetNode
  let b: FleetNode
  let accounts = 0

  beforeAll(async () => {
    server = await sharedPostgres()
    fleet = await openFleet({
      database: await server.migrated(),
      ...TWO_CLUSTERS,
      plans,
      clock: systemClock,
      uploads: { maxPerAccount: 1 },
    })
    a = fleet.a
    b = fleet.b
  })
  afterAll(async () => {
    await fleet?.close()
    await server?.stop()
  })

  async function account(plan: keyof typeof plans = 'all'): Promise<Account & { key: string }> {
    const made = await a.engine.accounts.create({ email: `${accounts++}@example.org`, plan })
    const { secret } = await a.engine.keys.create(made.id, { name: 'all', scopes: SCOPES })
    return { ...made, key: secret }
  }
  const call = async (node: FleetNode, key: string, path: string, init: RequestInit = {}): Promise<Sent> => {
    const headers = { 'x-api-key': key, ...init.headers }
    const response = await fetch(`${node.url}/api/v3${path}`, { ...init, headers })
    return { status: response.status, json: await response.json() }
  }
  const send = (node: FleetNode, key: string, path: string, parts: Parts, init: RequestInit = {}): Promise<Sent> => {
    const { headers, body } = form(parts)
    return call(node, key, path, {
      method: 'POST',
      body: new Uint8Array(body),
      ...init,
      headers: { ...headers, ...init.headers },
    })
  }
  const file = (content: Uint8Array, filename = 'file.bin') => ({ name: 'file', filename, content })
  const cl = (id: string) => ({ name: 'cl', content: id })
  const kept = async (node: FleetNode): Promise<[roots: number, staging: number, blocks: number]> => {
    await node.engine.collect({ graceSeconds: 0 })
    const { roots, blocks } = await node.engine.stats()
    return [roots.complete.count, roots.staging.count, blocks.durable.count]
  }
  /** Returns the number of requests that another node sends during `run`. */
  const askedOf = async (node: FleetNode, run: () => Promise<unknown>): Promise<number> => {
    let count = 0
    const asked = ({ headers }: IncomingMessage): void => {
      if ('holdfast-passed-on' in headers) count++
    }
    node.server.on('request', asked)
    await run().finally(() => node.server.off('request', asked))
    return count
  }
  /** Replaces the answers of a node's server during `run`. */
  const instead = async (
    node: FleetNode,
    answer: (request: IncomingMessage) => unknown,
    run: () => Promise<unknown>,
  ): Promise<void> => {
    const own = node.server.listeners('request') as Array<(...args: unknown[]) => void>
    node.server.removeAllListeners('request').on('request', answer)
    await run().finally(() => {
      node.server.removeAllListeners('request')
      for (const listener of own) node.server.on('request', listener)
    })
  }
  const recordOf = async (key: string, cid: string) => {
    const { json } = await call(a, key, `/users/me/uploads?cid=${cid}`)
    const [{ uploadId, createdAt, uploadedAt, ...record }, ...more] = json.uploads
    expect(more).toEqual([])
    return record
  }

  test('are stored with their names, meta, expiry and order', async () => {
    const [there, through] = [await account(), await account()]
    const before = await kept(a)
    const fields = [
      { name: 'meta', content: '{"a":"ü","b":"%22"}' },
      { name: 'timelock', content: '2100-01-01T00:00:00Z' },
      { name: 'other', content: 'is not known' },
      { name: 'dirName', content: ' a "name" ' },
      cl(' second '),
    ]
    const large = pseudoRandom(LARGE, 'names')
    const files = Array.from({ length: 450 }, (_, i) => pseudoRandom(i * 7, `file ${i}`))
    const paths = files.map((_, i) => (i % 5 === 0 ? `d${i % 7}/ü %22 ${i}` : `e/"${i};'`))
    const pairs = files.slice(0, 3).flatMap((content, i) => [
      { name: `files[${i}][content]`, filename: 'blob', content },
      { name: `files[${i}][path]`, content: `late\\./${i}` },
    ])
    const forms: Array<[path: string, parts: Parts]> = [
      ['/files', [file(large, 'ü %22 "x\\y;=.txt'.replaceAll('"', '\\"')), ...fields]],
      ['/files', [file(pseudoRandom(LARGE, 'unnamed'), ''), ...fields]],
      ['/files', [{ name: 'file', content: large, type: 'application/octet-stream' }, ...fields]],
      [
        '/files',
        [
          file(new Uint8Array(), 'empty'),
          { name: 'filler', content: 'x'.repeat(60_000) },
          { name: 'more', content: 'x'.repeat(60_000) },
          ...fields,
        ],
      ],
      [
        '/files/directory-dag',
        [
          { name: 'files[]', filename: 'large', content: large },
          ...files.map((content, i) => ({ name: 'files', filename: (paths[i] ?? '').replaceAll('"', '\\"'), content })),
          ...pairs,
          ...fields,
        ],
      ],
    ]
    for (const [path, parts] of forms) {
      const direct = await send(b, there.key, path, parts, { headers: { 'x-cluster': 'second' } })
      const handed = await send(a, through.key, path, parts)
      const { uploadId, createdAt, ...expected } = direct.json
      expect([direct.status, expected.clusterId, expected.expiresAt]).toEqual([
        201,
        'second',
        '2100-01-01T00:00:00.000Z',
      ])
      expect(handed).toMatchObject({ status: 201, json: expected })
      expect(Object.keys(handed.json)).toEqual(Object.keys(direct.json))
      const again = await send(a, through.key, path, parts)
      expect(again).toEqual({
        status: 200,
        json: { ...handed.json, ...('message' in again.json && { message: again.json.message }) },
      })
    }
    const listed = await call(a, through.key, '/users/me/uploads')
    const own = await call(b, there.key, '/users/me/uploads')
    const shown = ({ uploads }: Sent['json']) =>
      uploads.map(({ uploadId, createdAt, uploadedAt, ...rest }: Sent['json']) => rest)
    expect(shown(listed.json)).toEqual(shown(own.json))
    expect(await kept(a)).toEqual(before)
  })

  test('are stored as CARs with all roots, repeated and unlinked blocks', async () => {
    const [there, through] = [await account(), await account()]
    const before = await kept(a)
    const one = directoryOf({ large: leaf(pseudoRandom(LARGE, 'car')), same: leaf(pseudoRandom(LARGE, 'car')) })
    const [two, lost, unlinked] = leaves(3, 1_000, 'more') as [Dag, Dag, Dag]
    const blocks = [...one.blocks, ...one.blocks, ...two.blocks, ...unlinked.blocks]
    const parts = [
      file(await carOf([two.root, one.root], blocks), 'backup.CAR'),
      { name: 'meta', content: '{"a":"b"}' },
      cl('second'),
    ]
    const direct = await send(b, there.key, '/files/car?customName=custom', parts, {
      headers: { 'x-cluster': 'second' },
    })
    const handed = await send(a, through.key, '/files/car?customName=custom', parts)
    const roots = ({ json }: Sent) => json.roots.map(({ uploadId, createdAt, ...rest }: Sent['json']) => rest)
    expect([direct.status, handed.status]).toEqual([201, 201])
    expect(roots(handed)).toEqual(roots(direct))
    for (const { root } of [one, two]) {
      expect(await recordOf(through.key, `${root}`)).toEqual(await recordOf(there.key, `${root}`))
    }
    const partial = directoryOf({ two, lost })
    const rest = file(await carOf([partial.root], [...blocks, partial.blocks[0] as Block]))
    const incomplete = await send(a, through.key, '/files/car', [rest, cl('second')])
    expect([incomplete.status, incomplete.json.message]).toEqual([400, expect.stringContaining(`${lost.root}`)])
    const kept1 = await send(a, through.key, '/files/car?allowPartial=true', [rest, cl('second')])
    expect([kept1.status, kept1.json.roots[0].missing]).toEqual([201, { blocks: 1, first: `${lost.root}` }])
    expect(await kept(a)).toEqual(before)
  })

  test('keep names as bytes, and the attributes of files and directories', async () => {
    const [there, through] = [await account(), await account()]
    const before = await kept(a)
    const name = 'caf\uefe9'
    const query = '?mode=0640&mtime=1604320500&mtime-nsecs=55555'
    const folder = (filename: string) => ({
      name: 'files?mode=0750&mtime=-2',
      filename,
      content: '',
      type: 'application/x-directory',
    })
    const large = pseudoRandom(LARGE, 'attributes')
    const forms: Array<[path: string, parts: Parts]> = [
      ['/files', [{ name: `file${query}`, filename: name, content: large }, cl('second')]],
      [
        '/files/directory-dag',
        [
          folder('.'),
          { name: `files[]${query}`, filename: `sub/${name}`, content: large },
          folder(`sub/nothing ${name}`),
          { name: 'files', filename: 'plain', content: 'plain' },
          folder('sub'),
          cl('second'),
        ],
      ],
    ]
    for (const [path, parts] of forms) {
      const direct = await send(b, there.key, path, parts, { headers: { 'x-cluster': 'second' } })
      const handed = await send(a, through.key, path, parts)
      const { uploadId, createdAt, ...expected } = direct.json
      expect([direct.status, expected.clusterId]).toEqual([201, 'second'])
      expect(handed).toMatchObject({ status: 201, json: expected })
      const bare = parts.map(part => ({ ...part, name: part.name.replace(/\?.*/, '') }))
      expect((await send(b, there.key, path, bare)).json.cid).not.toBe(direct.json.cid)
    }
    expect(await kept(a)).toEqual(before)
  })

  test('are refused by the first node if it knows the reason', async () => {
    const [all, narrow] = [await account(), await account('first-only')]
    const before = [await kept(a), await kept(b)]
    const large = file(pseudoRandom(LARGE, 'refused'))
    const refusals: Array<[key: string, parts: Parts, status: number, code: string]> = [
      [narrow.key, [large, cl('second')], 403, 'CLUSTER_NOT_ALLOWED'],
      [all.key, [large, cl('third')], 403, 'CLUSTER_NOT_ALLOWED'],
      [all.key, [large, cl('second'), { name: 'timelock', content: 'soon' }], 400, 'INVALID_TIMELOCK'],
      [all.key, [large, cl('second'), { name: 'meta', content: '[]' }], 400, 'VALIDATION'],
      [all.key, [large, cl('second'), large], 400, 'VALIDATION'],
    ]
    const asked = await askedOf(b, async () => {
      for (const [key, parts, status, code] of refusals) {
        const answer = await send(a, key, '/files', parts)
        expect([answer.status, answer.json.code]).toEqual([status, code])
      }
    })
    expect(asked).toBe(0)
    expect([await kept(a), await kept(b)]).toEqual(before)
  })

  test('are refused by the other node for meta or quota', async () => {
    const content = pseudoRandom(LARGE, 'quota')
    const [all, full, one] = [await account(), await account('full'), await account('full-but-one')]
    // The repeat costs nothing on this node, so only the other node can refuse it.
    expect((await send(a, all.key, '/files', [file(content)])).status).toBe(201)
    const before = [await kept(a), await kept(b)]
    const meta = { name: 'meta', content: JSON.stringify({ long: 'x'.repeat(5_000) }) }
    const long = await send(a, all.key, '/files', [file(content), cl('second'), meta])
    expect([long.status, long.json.code]).toEqual([400, 'VALIDATION'])
    const refused = await send(a, one.key, '/files', [file(content), cl('second')])
    expect([refused.status, refused.json.code]).toEqual([403, 'QUOTA_EXCEEDED'])
    expect([await kept(a), await kept(b)]).toEqual(before)
    const fits = await send(a, full.key, '/files', [file(content), cl('second')])
    expect([fits.status, fits.json.clusterId]).toEqual([201, 'second'])
  })

  test('go to the cluster of the last field, even back', async () => {
    const { key } = await account()
    const large = (seed: string) => file(pseudoRandom(LARGE, seed))
    const padded = cl(`${' '.repeat(30_000)}second${' '.repeat(35_530)}`)
    const filler = Array.from({ length: 6 }, () => ({ name: 'filler', content: 'x'.repeat(60_000) }))
    const ways: Array<[through: FleetNode, parts: Parts, cluster: string]> = [
      [a, [cl('second'), large('1'), cl('first')], 'first'],
      [b, [cl('first'), large('2'), cl('second')], 'second'],
      [b, [large('3'), cl('second')], 'second'],
      [a, [cl('second'), large('4'), cl(' ')], 'second'],
      [a, [padded, large('5')], 'second'],
      [a, [large('6'), padded], 'second'],
      [a, [...filler, cl('second'), large('7'), cl(' ')], 'second'],
    ]
    const before = [await kept(a), await kept(b)]
    for (const [through, parts, expected] of ways) {
      const { status, json } = await send(through, key, '/files', parts)
      expect([status, json.clusterId]).toEqual([201, expected])
    }
    const [[rootsOfA], [rootsOfB]] = [await kept(a), await kept(b)]
    expect([rootsOfA - (before[0]?.[0] ?? 0), rootsOfB - (before[1]?.[0] ?? 0)]).toEqual([1, 6])
  })

  test('differ from large JSON, whose cluster is found at once', async () => {
    const { key } = await account()
    await mkdir(join(b.dataDir, 'import', 'there'), { recursive: true })
    await writeFile(join(b.dataDir, 'import', 'there', 'file'), 'of b')
    const body = JSON.stringify({ filler: 'x'.repeat(LARGE), dirPath: 'there', cl: 'second' })
    const headers = { 'content-type': 'application/json' }
    const { status, json } = await call(a, key, '/files/directory', { method: 'POST', headers, body })
    expect([status, json.clusterId, json.size]).toEqual([201, 'second', 4])
  })

  test('may be refused early, or fail if the node is down', async () => {
    const [all, full] = [await account(), await account('full')]
    const content = pseudoRandom(8_000_000, 'early')
    expect((await send(a, all.key, '/files', [file(content)])).status).toBe(201)
    const before = [await kept(a), await kept(b)]
    const refused = await send(a, full.key, '/files', [file(content), cl('second')])
    expect([refused.status, refused.json.code]).toEqual([403, 'QUOTA_EXCEEDED'])
    expect([await kept(a), await kept(b)]).toEqual(before)
    await instead(
      b,
      request => request.resume().on('end', () => request.socket.destroy()),
      async () => {
        const lost = await send(a, all.key, '/files', [file(content), cl('second')])
        expect([lost.status, lost.json.code]).toEqual([503, 'OUTCOME_UNKNOWN'])
      },
    )
    await b.stop()
    const away = async () => {
      const { status, json } = await send(a, all.key, '/files', [file(content), cl('second')])
      return [status, json.code]
    }
    await expect.poll(away).toEqual([503, 'UNAVAILABLE'])
    await b.start()
    expect([await kept(a), await kept(b)]).toEqual(before)
    await expect.poll(away).toEqual([201, undefined])
  })

  test('leave nothing after an abort and take no upload slot', async () => {
    const { key } = await account()
    const before = await kept(a)
    for (const end of ['the client goes', 'the node stops'] as const) {
      const { promise: hasAll, resolve } = Promise.withResolvers<IncomingMessage>()
      const hang = (asked: IncomingMessage): unknown => asked.resume().on('end', () => resolve(asked))
      await instead(b, hang, async () => {
        const { headers, body } = form([file(pseudoRandom(LARGE, 'slow')), cl('second')])
        const client = request(`${a.url}/api/v3/files`, { method: 'POST', headers: { ...headers, 'x-api-key': key } })
        client.on('error', () => undefined).end(body)
        const { socket } = await hasAll
        const gone = once(socket, 'end')
        const small = await send(a, key, '/files', [file(Buffer.from('meanwhile'))])
        expect(small.json.clusterId).toBe('first')
        await call(a, key, `/files/remove/${small.json.cid}`, { method: 'DELETE' })
        // A half-closed connection proves nothing: the client may still wait for its answer.
        if (end === 'the client goes') client.socket?.resetAndDestroy()
        else {
          const answered = once(client, 'response') as Promise<[IncomingMessage]>
          await a.stop()
          const [answer] = await answered
          expect([answer.statusCode, JSON.parse(`${await collect(answer)}`).code]).toEqual([503, 'OUTCOME_UNKNOWN'])
          await a.start()
        }
        await gone
      })
      await expect.poll(() => kept(a)).toEqual(before)
    }
  })

  test('can cross each other with few slots', async () => {
    const { key } = await account()
    /**
     * Sends all fields but the last and waits until the other node gets the request. Returns a function that sends the
     * last.
     */
    const begin = async (through: FleetNode, other: FleetNode, there: string, back: string) => {
      const { headers, body } = form([cl(there), file(pseudoRandom(LARGE, there)), cl(back)])
      const most = body.length - 100
      const client = request(`${through.url}/api/v3/files`, {
        method: 'POST',
        headers: { ...headers, 'x-api-key': key },
      })
      const asked = once(other.server, 'request')
      client.write(body.subarray(0, most))
      await asked
      return async () => {
        client.end(body.subarray(most))
        const [answer] = (await once(client, 'response')) as [IncomingMessage]
        return [answer.statusCode, JSON.parse(`${await collect(answer)}`).clusterId]
      }
    }
    const ends = [await begin(a, b, 'second', 'first'), await begin(b, a, 'first', 'second')]
    expect(await Promise.all(ends.map(end => end()))).toEqual([
      [201, 'first'],
      [201, 'second'],
    ])
  })
})
