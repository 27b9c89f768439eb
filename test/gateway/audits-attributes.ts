import assert from 'node:assert/strict'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { extract } from 'tar-stream'
import { type AuditContext, assertSameHead, type GatewayAudit, get } from './audit.ts'
import { AUDIT_HOST, type GatewayWorld, pbBlock } from './world.ts'

const MODIFIED = Date.UTC(2021, 4, 6, 7, 8, 9)
const MODIFIED_HTTP = 'Thu, 06 May 2021 07:08:09 GMT'
const BEFORE = 'Thu, 06 May 2021 07:08:08 GMT'

interface Stored {
  mode?: number
  /** In seconds since the epoch. */
  mtime?: number
}

function nodeOf(data: ConstructorParameters<typeof UnixFS>[0], { mode, mtime }: Stored): Uint8Array {
  const times = mtime === undefined ? {} : { mtime: { secs: BigInt(mtime), nsecs: 5 } }
  return new UnixFS({ ...data, ...times, ...(mode !== undefined && { mode }) }).marshal()
}

/** Pins a directory with the mode 0755 that has one file `f.txt`. */
async function pinned(world: GatewayWorld, stored: Stored): Promise<CID> {
  const file = await pbBlock({ Data: nodeOf({ type: 'file', data: Buffer.from('dated') }, stored), Links: [] })
  const top = nodeOf({ type: 'directory' }, { mode: 0o1755, mtime: MODIFIED / 1000 })
  return world.addBlocks([file, await pbBlock({ Data: top, Links: [dagPb.createLink('f.txt', 5, file[0])] })])
}

async function archived(context: AuditContext, dir: CID): Promise<Record<string, [mode: number, mtime: number]>> {
  const found: Record<string, [number, number]> = {}
  const unpack = extract()
  unpack.end((await get(context, `/ipfs/${dir}?format=tar`, 200)).body)
  for await (const entry of unpack) {
    found[entry.header.name] = [entry.header.mode ?? -1, entry.header.mtime?.getTime() ?? -1]
    entry.resume()
  }
  return found
}

/** Mode and time of UnixFS 1.5. */
export const attributeAudits: readonly GatewayAudit[] = [
  {
    id: 'attributes.archive',
    name: 'MUST keep mode and time in TAR, without setuid, setgid and sticky (UnixFS, mode and mtime)',
    async run(context) {
      const dated = await pinned(context.world, { mode: 0o106751, mtime: MODIFIED / 1000 })
      const plain = await pinned(context.world, {})
      assert.deepEqual(await archived(context, dated), {
        [`${dated}/`]: [0o755, MODIFIED],
        [`${dated}/f.txt`]: [0o751, MODIFIED],
      })
      assert.deepEqual((await archived(context, plain))[`${plain}/f.txt`], [0o644, 0])
      const stored = nodeOf({ type: 'symlink', data: Buffer.from('f.txt') }, { mtime: MODIFIED / 1000 })
      const link = await pbBlock({ Data: stored, Links: [] })
      const links = { Data: nodeOf({ type: 'directory' }, {}), Links: [dagPb.createLink('to', 5, link[0])] }
      const linked = await context.world.addBlocks([link, await pbBlock(links)])
      assert.deepEqual((await archived(context, linked))[`${linked}/to`], [0o777, MODIFIED])
    },
  },
  {
    id: 'attributes.archive-version',
    name: 'MUST NOT confirm a TAR of an earlier version, which had no attributes (RFC 9110, section 8.8.3)',
    async run(context) {
      const dir = await pinned(context.world, { mtime: MODIFIED / 1000 })
      const path = `/ipfs/${dir}?format=tar`
      const etag = (await get(context, path, 200)).header('etag') ?? ''
      await get(context, path, 304, { 'if-none-match': etag })
      for (const earlier of [`W/"${dir}.x-tar"`, `"${dir}.x-tar"`]) {
        await get(context, path, 200, { 'if-none-match': earlier })
      }
    },
  },
  {
    id: 'attributes.listing',
    name: 'MUST list mode and time of an entry, only if it stores them (UnixFS, mode and mtime)',
    async run(context) {
      const entryOf = async (stored: Stored) => {
        const dir = await pinned(context.world, stored)
        const { mode, mtime } = JSON.parse((await get(context, `/ipfs/${dir}/?format=json`, 200)).text).entries[0]
        return { mode, mtime }
      }
      const mtime = '2021-05-06T07:08:09.000Z'
      assert.deepEqual(await entryOf({ mode: 0o4640, mtime: MODIFIED / 1000 }), { mode: '0640', mtime })
      assert.deepEqual(await entryOf({}), { mode: undefined, mtime: undefined })
    },
  },
  {
    id: 'attributes.page',
    name: 'MUST have columns of mode and time in a page only if an entry stores them (UnixFS, mode and mtime)',
    async run(context) {
      const columnsOf = async (stored: Stored) => {
        const dir = await pinned(context.world, stored)
        const { text } = await get(context, `/ipfs/${dir}/`, 200, { accept: 'text/html' })
        const cells = [...text.matchAll(/<t[hd][^>]*>([^<]*)<\/t[hd]>/g)].map(([, cell]) => cell)
        return cells.filter(cell => cell !== '' && !['Name', 'Size', 'CID'].includes(cell ?? ''))
      }
      const [mode, mtime] = [0o4640, MODIFIED / 1000]
      const size = '5 B'
      const time = ['Modified (UTC)', size, '2021-05-06 07:08:09']
      assert.deepEqual(await columnsOf({}), [size])
      assert.deepEqual(await columnsOf({ mode }), ['Mode', size, '0640'])
      assert.deepEqual(await columnsOf({ mtime }), time)
      assert.deepEqual(await columnsOf({ mode, mtime }), [
        'Mode',
        'Modified (UTC)',
        size,
        '0640',
        '2021-05-06 07:08:09',
      ])
    },
  },
  {
    id: 'attributes.last-modified',
    name: 'MUST send the time as Last-Modified, and check its conditions (RFC 9110, section 13.1)',
    async run(context) {
      const path = `/ipfs/${await pinned(context.world, { mtime: MODIFIED / 1000 })}/f.txt`
      const answer = await get(context, path, 200)
      assert.equal(answer.header('last-modified'), MODIFIED_HTTP)
      await assertSameHead(context, path)
      const unchanged = await get(context, path, 304, { 'if-modified-since': MODIFIED_HTTP })
      assert.equal(unchanged.header('last-modified'), MODIFIED_HTTP)
      await get(context, path, 200, { 'if-modified-since': BEFORE })
      await get(context, path, 200, { 'if-unmodified-since': MODIFIED_HTTP })
      await get(context, path, 412, { 'if-unmodified-since': BEFORE })
      // The ETag wins over the time.
      await get(context, path, 200, { 'if-none-match': '"other"', 'if-modified-since': MODIFIED_HTTP })
      const range = 'bytes=0-1'
      assert.equal((await get(context, path, 206, { range, 'if-range': MODIFIED_HTTP })).text, 'da')
      assert.equal((await get(context, path, 200, { range, 'if-range': BEFORE })).text, 'dated')
    },
  },
  {
    id: 'attributes.no-last-modified',
    name: 'MUST NOT send a missing, invalid or future time, nor one below another root (RFC 9110, section 8.8.2.1)',
    async run(context) {
      const { world } = context
      const year = 366 * 24 * 3600
      for (const mtime of [undefined, -1, 0, Math.ceil(world.clock.now() / 1000) + year, Number.MAX_SAFE_INTEGER]) {
        const dir = await pinned(world, mtime === undefined ? {} : { mtime })
        assert.equal((await get(context, `/ipfs/${dir}/f.txt`, 200)).header('last-modified'), undefined, `${mtime}`)
      }
      const dir = await pinned(world, { mtime: MODIFIED / 1000 })
      const host = { host: `${dir}.ipfs.${AUDIT_HOST}` }
      assert.equal((await get(context, '/f.txt', 200, host)).header('last-modified'), undefined)
    },
  },
]
