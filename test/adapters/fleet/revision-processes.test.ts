import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const MIB = 1024 ** 2
const PATIENCE = { timeout: 120_000 }

interface Upload {
  cid: string
  uploadId: string
}

interface Taken {
  pending?: Array<{ node: string | null; thread: number | null }>
}

describe('a change in a fleet of processes', { timeout: 400_000, ...needsPostgres }, () => {
  let server: SharedPostgres
  let client: pg.Client
  let nodes: readonly [NodeProcess, NodeProcess, NodeProcess]
  let close: () => Promise<void>
  beforeAll(async () => {
    server = await sharedPostgres()
    const database = await server.migrated()
    client = new pg.Client({ connectionString: database })
    await client.connect()
    const opened = await openNodeProcesses(database, { network: { enabled: false } }, 3)
    nodes = opened.nodes as unknown as typeof nodes
    close = opened.close
  }, 300_000)
  afterAll(async () => {
    await close?.()
    await client?.end()
    await server?.stop()
  })

  const upload = async (node: NodeProcess, cluster: string, content: Uint8Array) => {
    const form = new FormData()
    form.set('file', new Blob([content as Uint8Array<ArrayBuffer>]))
    const answer = await node.call<Upload>('POST', '/api/v3/files', form, { 'x-cluster': cluster })
    expect(answer.status).toBe(201)
    return answer.json
  }
  const add = async (node: NodeProcess, cid: string) => {
    const { status, json } = await node.call<Taken>('POST', '/admin/v1/takedowns', { cid, reason: 'x' })
    return [status, json.pending ?? []]
  }
  /** Returns the answer of a node's gateway, of which nobody reads the rest. */
  const begin = async (node: NodeProcess, cid: string): Promise<IncomingMessage> => {
    const [answer] = (await once(http.get(`${node.gateway}/ipfs/${cid}?filename=x.bin`), 'response')) as [
      IncomingMessage,
    ]
    await once(answer, 'readable')
    return answer
  }
  const status = async (node: NodeProcess, cid: string): Promise<number> => {
    const answer = await fetch(`${node.gateway}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }
  const haveConfirmed = async () => {
    const { rows } = await client.query<{ id: string }>(
      'SELECT id FROM nodes WHERE confirmed = (SELECT number FROM revisions) ORDER BY id',
    )
    return rows.map(({ id }) => id)
  }
  /** Takes content down until all nodes have confirmed in time, which a busy machine may prevent. */
  const addForAll = (node: NodeProcess, cid: string) => expect.poll(() => add(node, cid), PATIENCE).toEqual([201, []])
  const C = { node: 'c', thread: null }

  test('has ended unread responses of all nodes when it returns', async () => {
    const [a, b, c] = nodes
    const { cid } = await upload(b, 'second', pseudoRandom(24 * MIB, 'unread'))
    const answers = await Promise.all([a, b, c].map(node => begin(node, cid)))
    await addForAll(a, cid)
    for (const answer of answers) await expect(answer.toArray()).rejects.toThrow()
    for (const node of nodes) expect(await status(node, cid)).toBe(410)
    expect(await haveConfirmed()).toEqual(['a', 'b', 'c'])
  })

  test('names a node that stands still, which follows once it goes on', async () => {
    const [a, b, c] = nodes
    const { cid } = await upload(b, 'second', Buffer.from('stands still'))
    const hidden = await upload(b, 'second', Buffer.from('hidden'))
    c.server.signal('SIGSTOP')
    try {
      expect(await add(a, cid)).toEqual([202, expect.arrayContaining([C])])
      const path = `/api/v3/files/visibility/${hidden.uploadId}`
      const changed = await a.call<{ pending: number }>('PUT', path, { visibility: 'private' })
      expect([changed.status, changed.json.pending > 0]).toEqual([202, true])
      await expect.poll(() => status(b, cid), PATIENCE).toBe(410)
    } finally {
      c.server.signal('SIGCONT')
    }
    await expect.poll(haveConfirmed, PATIENCE).toEqual(['a', 'b', 'c'])
    expect([await status(c, cid), await status(c, hidden.cid)]).toEqual([410, 404])
  })

  test('names a killed node, which follows it before it serves again', async () => {
    const [a, b, c] = nodes
    const { cid } = await upload(b, 'second', Buffer.from('killed'))
    await c.kill()
    expect(await add(a, cid)).toEqual([202, expect.arrayContaining([C])])
    await c.start()
    expect(await status(c, cid)).toBe(410)
    const { cid: other } = await upload(b, 'second', Buffer.from('all run'))
    await addForAll(c, other)
    for (const node of nodes) expect(await status(node, other)).toBe(410)
  })
})
