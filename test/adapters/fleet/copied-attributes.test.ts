import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readTar } from '../../../adapters/cli/tar-reader.ts'
import { form } from '../../contract/world.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, withFleet } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

describe('a copy on another node', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const attributesAt = async (node: FleetNode, cid: string): Promise<unknown[]> => {
    const { status, body } = await fetch(`${node.url}/ipfs/${cid}?format=tar`)
    expect(status).toBe(200)
    const found: unknown[] = []
    const archive = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
    for await (const { path, mode, mtime, bytes } of readTar(archive)) {
      await buffer(bytes)
      found.push([path.replace(cid, ''), mode, mtime])
    }
    return found
  }

  test('has the permissions, times and names of the first', async () => {
    await withFleet(await server.migrated(), async ({ a, b, key }) => {
      const directory = (filename: string, query: string) => {
        return { name: `files?${query}`, filename, content: '', type: 'application/x-directory' }
      }
      const { headers, body } = form([
        directory('.', 'mode=0751&mtime=2'),
        { name: 'files?mode=0640&mtime=1604320500', filename: 'large', content: pseudoRandom(2_500_000, 'copy') },
        { name: 'files?mode=0755', filename: 'caf\uefe9', content: 'x' },
        directory('empty', 'mtime=3'),
      ])
      const own = { 'x-api-key': key }
      const uploaded = await fetch(`${b.url}/api/v3/files/directory-dag`, {
        method: 'POST',
        headers: { ...headers, ...own, 'x-cluster': 'second' },
        body: new Uint8Array(body),
      })
      const { cid } = (await uploaded.json()) as { cid: string }
      expect(uploaded.status).toBe(201)
      const pinned = await fetch(`${a.url}/api/v3/files/pin/${cid}`, {
        method: 'POST',
        headers: { ...own, 'x-cluster': 'first' },
      })
      expect(pinned.status).toBe(201)
      const statuses = async (): Promise<string[]> => {
        const answer = await fetch(`${a.url}/api/v3/users/me/uploads?cid=${cid}`, { headers: own })
        const { uploads } = (await answer.json()) as { uploads: Array<{ clusterId: string; status: string }> }
        return uploads.map(({ clusterId, status }) => `${clusterId} ${status}`).sort()
      }
      await expect.poll(statuses).toEqual(['first pinned', 'second pinned'])
      await b.stop()
      expect(await attributesAt(a, cid)).toEqual([
        ['/', 0o751, 2],
        ['/caf\uefe9', 0o755, 0],
        ['/empty/', 0o755, 3],
        ['/large', 0o640, 1_604_320_500],
      ])
    })
  })
})
