import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needs } from '../../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource } from '../../support/old-source.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const SOURCE = OLD_SOURCES['0.3.0']
const isThere = needs(hasSource(SOURCE), 'the history does not reach back to 0.3.0')

describe('a fleet with a node of 0.3.0', { timeout: 240_000, ...isThere, ...needsPostgres }, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const send = async (node: NodeProcess, text: string, visibility: string, cluster: string) => {
    const form = new FormData()
    form.set('visibility', visibility)
    form.set('file', new Blob([text]), 'x.txt')
    return node.call<{ cid: string; visibility: string }>('POST', '/api/v3/files', form, { 'x-cluster': cluster })
  }
  const statusOf = async ({ gateway }: NodeProcess, cid: string): Promise<number> => {
    const answer = await fetch(`${gateway}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }

  test('has private records only once that node has gone for good', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-mixed-'))
    const source = join(directory, 'source')
    unpackSource(SOURCE, source)
    const main = join(source, 'adapters', 'cli', 'main.ts')
    const { a, b, close } = await openNodeProcesses(await server.fresh(), {}, 2, main)
    try {
      const old = await send(b, 'of 0.3.0', 'public', 'second')
      expect(old.status).toBe(201)
      await a.kill()
      a.main = undefined
      await a.start()
      // Before: private is refused, everything else goes on in both directions.
      expect((await send(a, 'too early', 'private', 'first')).status).toBe(409)
      const open = await send(a, 'for everybody', 'public', 'first')
      for (const node of [a, b]) {
        for (const { cid } of [old.json, open.json]) {
          await expect.poll(() => statusOf(node, cid), { timeout: 60_000 }).toBe(200)
        }
      }
      const enable = () => a.call<{ message?: string }>('POST', '/admin/v1/visibility', {})
      const refused = await enable()
      expect([refused.status, refused.json.message]).toEqual([409, expect.stringContaining('runs as b')])
      await b.kill()
      await expect.poll(async () => (await enable()).status, { timeout: 60_000 }).toBe(200)
      // Afterwards: 0.3.0 does not start, so it serves nothing.
      const closed = await send(a, 'for its account', 'private', 'first')
      expect([closed.status, closed.json.visibility]).toEqual([201, 'private'])
      await expect(b.start()).rejects.toThrow(/newer/)
      b.main = undefined
      await b.start()
      for (const node of [a, b]) {
        expect(await statusOf(node, closed.json.cid)).toBe(404)
        await expect.poll(() => statusOf(node, old.json.cid), { timeout: 60_000 }).toBe(200)
      }
    } finally {
      await close()
      await rm(directory, { recursive: true })
    }
  })
})
