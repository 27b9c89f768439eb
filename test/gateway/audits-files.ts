import assert from 'node:assert/strict'
import * as dagPb from '@ipld/dag-pb'
import { vi } from 'vitest'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { assertSameHead, type GatewayAudit, get, getError } from './audit.ts'
import { directoryBlock, fileNode, pbBlock, rawBlock } from './world.ts'

const MIB = 1024 ** 2

/** Files: bytes, types, caching and damage. */
export const fileAudits: readonly GatewayAudit[] = [
  {
    id: 'file.bytes',
    name: 'MUST serve the bytes of files of any size with their length (path gateway, Response Payload)',
    async run(context) {
      for (const size of [0, 1, 4096, MIB - 1, MIB, MIB + 1, 3 * MIB + 17]) {
        const bytes = pseudoRandom(size, `bytes ${size}`)
        const cid = await context.world.addFile(bytes)
        const answer = await get(context, `/ipfs/${cid}`, 200)
        assert.equal(answer.header('content-length'), String(size))
        assert.ok(answer.body.equals(bytes), `${size} bytes`)
        assert.equal(answer.header('accept-ranges'), 'bytes')
        await assertSameHead(context, `/ipfs/${cid}`)
      }
    },
  },
  {
    id: 'file.foreign-dags',
    name: 'MUST serve files of other shapes: bytes inside nodes, deep trees, dag-pb leaves (UnixFS)',
    async run(context) {
      const { world } = context
      const parts = [pseudoRandom(1000, 'a'), pseudoRandom(70_000, 'b'), pseudoRandom(10, 'c')]
      const leaves = await Promise.all(parts.map(part => pbBlock(fileNode([], part))))
      const [first, second, third] = leaves.map(([cid], index) => ({ cid, size: parts[index]?.length ?? 0 }))
      assert.ok(first && second && third)
      const inner = await pbBlock(fileNode([first, second], Buffer.from('between')))
      const empty = await rawBlock(new Uint8Array())
      const root = await pbBlock(
        fileNode([{ cid: inner[0], size: 71_007 }, { cid: empty[0], size: 0 }, third, first], Buffer.from('before')),
      )
      const whole = Buffer.concat([
        Buffer.from('beforebetween'),
        ...[0, 1, 2, 0].map(index => parts[index] ?? Buffer.alloc(0)),
      ])
      const cid = await world.addBlocks([...leaves, inner, empty, root])
      assert.ok((await get(context, `/ipfs/${cid}`, 200)).body.equals(whole))
      for (const [start, end] of [
        [0, 5],
        [3, 20],
        [1012, 1013],
        [71_000, 71_030],
        [72_000, whole.length - 1],
      ]) {
        const { body } = await get(context, `/ipfs/${cid}`, 206, { range: `bytes=${start}-${end}` })
        assert.ok(body.equals(whole.subarray(start, (end ?? 0) + 1)), `${start}-${end}`)
      }
    },
  },
  {
    id: 'file.identity',
    name: 'MUST serve the empty identity CID as a probe (trustless gateway, Dedicated Probe Paths)',
    async run(context) {
      assert.equal((await get(context, '/ipfs/bafkqaaa', 200)).body.length, 0)
      assert.equal((await get(context, '/ipfs/bafkqaaa?format=raw', 200)).body.length, 0)
      for (const query of ['', '?format=raw', '?format=car']) {
        assert.equal((await context.request('HEAD', `/ipfs/bafkqaaa${query}`)).status, 200)
      }
      const car = await get(context, '/ipfs/bafkqaaa?format=car', 200)
      assert.equal(car.body.toString('hex'), '19a265726f6f747381d82a4500015500006776657273696f6e01')
      const { cid } = identityBlock(CODEC.raw, Buffer.from('in itself'))
      assert.equal((await get(context, `/ipfs/${cid}`, 200)).text, 'in itself')
    },
  },
  {
    id: 'file.identity-active',
    name: 'MUST sandbox active content of a requested identity CID, and let caches ask again',
    async run(context) {
      const page = '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
      const { cid } = identityBlock(CODEC.raw, Buffer.from(page))
      const inside = identityBlock(CODEC.dagPb, dagPb.encode(fileNode([], Buffer.from('<p>'))))
      for (const path of [
        `${cid}`,
        `${cid}?filename=index.html`,
        `${cid}?filename=a.xml`,
        `${inside.cid}?filename=a.htm`,
      ]) {
        const answer = await get(context, `/ipfs/${path}`, 200)
        assert.match(answer.header('content-security-policy') ?? '', /^sandbox (?!.*allow-same-origin)/, path)
        assert.equal(answer.header('x-content-type-options'), 'nosniff')
        assert.equal(answer.header('cache-control'), 'no-cache')
        const etag = answer.header('etag') ?? ''
        const same = await get(context, `/ipfs/${path}`, 304, { 'if-none-match': etag })
        assert.equal(same.header('cache-control'), 'no-cache')
      }
    },
  },
  {
    id: 'file.identity-long',
    name: 'MUST refuse an identity CID of more than 128 bytes that is not pinned, and serve one that is (IPIP-0512)',
    async run(context) {
      const of = (text: string) => identityBlock(CODEC.raw, Buffer.from(text.padEnd(300)))
      const { cid: unknown } = of('unknown')
      const answer = await getError(context, `/ipfs/${unknown}`, 400, 'INVALID_CID')
      assert.match(answer.text, /more than the 128 bytes/)
      await getError(context, `/ipfs/${unknown}?format=raw`, 400, 'INVALID_CID')
      const stored = of('stored by version 0.2.0')
      const root = await context.world.addBlocks([[stored.cid, stored.bytes]])
      const served = await get(context, `/ipfs/${root}?filename=a.html`, 200)
      assert.equal(served.text.trim(), 'stored by version 0.2.0')
      assert.match(served.header('content-security-policy') ?? '', /^sandbox/)
      assert.ok((served.header('etag')?.length ?? 0) < 100)
      const site = await context.world.addBlocks([await directoryBlock([['a.txt', stored.cid]])])
      assert.equal((await get(context, `/ipfs/${site}/a.txt`, 200)).text.trim(), 'stored by version 0.2.0')
      assert.equal((await get(context, `/ipfs/${root}?format=car`, 200)).body.includes('stored by'), true)
      await context.world.drop(root)
      await getError(context, `/ipfs/${root}`, 400, 'INVALID_CID')
    },
  },
  {
    id: 'file.v0',
    name: 'MUST treat every spelling of a CID as the same content (path gateway, GET /ipfs)',
    async run(context) {
      const node = await pbBlock(fileNode([], Buffer.from('the same')))
      const cid = await context.world.addBlocks([node])
      const spellings = [cid.toV0().toString(), cid.toString(), cid.toV1().toString()]
      for (const spelling of spellings) {
        assert.equal((await get(context, `/ipfs/${spelling}`, 200)).text, 'the same')
      }
    },
  },
  {
    id: 'file.types',
    name: 'MUST detect the type from name, then content (Content-Type)',
    async run(context) {
      const { world } = context
      const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), pseudoRandom(40)])
      const html = '<!doctype html><script>alert(1)</script>'
      const dir = await world.addDirectory({
        'a.txt': 'x',
        'b.SVG': '<svg/>',
        'c.html': html,
        'd.js': '1',
        svg: '<?xml version="1.0"?>\n<!-- drawn -->\n<!DOCTYPE svg>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
        json: ' {"name": "Picture 1", "size": [1, -2.5e3, true, null, {}]}\n',
        long: `[${'{"key": "value"}, '.repeat(100)}{}]`,
        note: '[ ] buy {milk}',
        e: html,
        f: png,
      })
      const types = {
        'a.txt': 'text/plain; charset=utf-8',
        'b.SVG': 'image/svg+xml',
        'c.html': 'text/html; charset=utf-8',
      }
      const others = { 'd.js': 'text/javascript; charset=utf-8', e: 'text/html; charset=utf-8', f: 'image/png' }
      const told = { svg: 'image/svg+xml', json: 'application/json', long: 'application/json', note: types['a.txt'] }
      for (const [name, type] of Object.entries({ ...types, ...others, ...told })) {
        const answer = await get(context, `/ipfs/${dir}/${name}`, 200)
        assert.equal(answer.header('content-type'), type, name)
        assert.equal(answer.header('x-content-type-options'), 'nosniff')
      }
      const cid = await world.addFile(pseudoRandom(2000, 'binary'))
      assert.equal((await get(context, `/ipfs/${cid}`, 200)).header('content-type'), 'application/octet-stream')
      const named = await get(context, `/ipfs/${cid}?filename=film.mp4`, 200)
      assert.equal(named.header('content-type'), 'video/mp4')
    },
  },
  {
    id: 'file.disposition',
    name: 'MUST name downloads in ASCII and in full, and make them attachments if asked (Content-Disposition)',
    async run(context) {
      const cid = await context.world.addFile('x')
      const disposition = async (query: string): Promise<string | undefined> =>
        (await get(context, `/ipfs/${cid}${query}`, 200)).header('content-disposition')
      assert.equal(await disposition(''), undefined)
      assert.equal(await disposition('?filename=a.txt'), 'inline; filename="a.txt"')
      assert.equal(await disposition('?filename=a.txt&download=true'), 'attachment; filename="a.txt"')
      assert.equal(await disposition('?download=true'), 'attachment')
      assert.equal(
        await disposition(`?filename=${encodeURIComponent('testтест.pdf')}`),
        `inline; filename="test____.pdf"; filename*=UTF-8''test%D1%82%D0%B5%D1%81%D1%82.pdf`,
      )
      const evil = await disposition(`?filename=${encodeURIComponent('a"\r\nset-cookie: x;\\.txt')}`)
      assert.match(evil ?? '', /^inline; filename="a___set-cookie: x;_\.txt"; filename\*=UTF-8''a%22%0D%0Aset/)
    },
  },
  {
    id: 'cache.not-modified',
    name: 'MUST answer 304 to a matching If-None-Match: one, a list, weak, any (path gateway, If-None-Match)',
    async run(context) {
      const file = await context.world.addFile(pseudoRandom(2 * MIB, 'cached'))
      const dir = await context.world.addDirectory({ 'index.html': '<p>', sub: { x: '1' } })
      const listing = (await get(context, `/ipfs/${dir}/sub/`, 200)).header('etag') ?? ''
      const cases = [
        [`/ipfs/${file}`, `"${file}"`],
        [`/ipfs/${dir}/`, `"${dir}"`],
        [`/ipfs/${dir}/sub/`, listing],
        [`/ipfs/${file}?format=raw`, `"${file}.raw"`],
      ] as const
      for (const [path, etag] of cases) {
        for (const value of [etag, `W/${etag}`, `"a", ${etag} ,"b"`, '*']) {
          const answer = await get(context, path, 304, { 'if-none-match': value, range: 'bytes=0-1' })
          assert.equal(answer.body.length, 0)
          assert.equal(answer.header('etag'), etag)
        }
        await get(context, path, 200, { 'if-none-match': '"other", W/"more"' })
      }
    },
  },
  {
    id: 'cache.immutable',
    name: 'MUST let content be cached for good, and for no longer than its timelock (path gateway, Cache-Control)',
    async run(context) {
      const { world } = context
      const forever = await world.addFile('forever')
      assert.equal(
        (await get(context, `/ipfs/${forever}`, 200)).header('cache-control'),
        'public, max-age=29030400, immutable',
      )
      const soon = await world.addFile('until then', world.clock.now() + 90_500)
      assert.match((await get(context, `/ipfs/${soon}`, 200)).header('cache-control') ?? '', /max-age=90\b/)
    },
  },
  {
    id: 'timelock.instant',
    name: 'MUST stop serving at the end of a timelock, the root and all below',
    async run(context) {
      const { world } = context
      const dir = await world.addDirectory({ 'a.txt': 'locked' }, world.clock.now() + 1000)
      const paths = [`/ipfs/${dir}/`, `/ipfs/${dir}/a.txt`]
      const etag = (await get(context, paths[1] ?? '', 200)).header('etag') ?? ''
      world.clock.advance(999)
      for (const path of paths) await get(context, path, 200)
      world.clock.advance(1)
      for (const path of paths) await getError(context, path, 404, 'CID_NOT_FOUND')
      await getError(context, paths[1] ?? '', 404, 'CID_NOT_FOUND', { 'if-none-match': etag })
    },
  },
  {
    id: 'damage.broken-off',
    name: 'MUST abort the answer at a damaged block and never complete it',
    async run(context) {
      const { world } = context
      for (const how of ['other bytes', 'cut short'] as const) {
        const bytes = pseudoRandom(5 * MIB, how)
        const cid = await world.addFile(bytes)
        const third = await rawBlock(bytes.subarray(2 * MIB, 3 * MIB))
        await world.damage(third[0], how)
        world.logged.splice(0)
        const answer = await context.request('GET', `/ipfs/${cid}`)
        assert.equal(answer.status, 200)
        assert.ok(answer.isBroken)
        assert.ok(answer.body.equals(bytes.subarray(0, answer.body.length)))
        assert.ok(answer.body.length <= 2 * MIB)
        // A thread reports it a moment later.
        await vi.waitFor(() => {
          const broken = world.logged.filter(({ message }) => message === 'gateway response failed midway')
          assert.equal(broken.length, 1)
        }, 20_000)
        const { body } = await get(context, `/ipfs/${cid}`, 206, { range: `bytes=${3 * MIB}-` })
        assert.ok(body.equals(bytes.subarray(3 * MIB)))
      }
    },
  },
  {
    id: 'damage.small',
    name: 'MUST answer an error if the first block is damaged',
    async run(context) {
      const { world } = context
      const cid = await world.addFile(pseudoRandom(100_000, 'damaged'))
      await world.damage(cid, 'other bytes')
      await getError(context, `/ipfs/${cid}`, 500, 'INTERNAL_ERROR')
    },
  },
  {
    id: 'file.lies',
    name: 'MUST NOT complete a file whose nodes do not have the sizes that links to them say',
    async run(context) {
      const leaf = await rawBlock(pseudoRandom(1000, 'lie'))
      const root = await pbBlock(fileNode([{ cid: leaf[0], size: 900 }]))
      const cid = await context.world.addBlocks([leaf, root])
      await getError(context, `/ipfs/${cid}?filename=x.bin`, 400, 'INVALID_CID')
    },
  },
]
