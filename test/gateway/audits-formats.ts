import assert from 'node:assert/strict'
import { CarReader } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { extract } from 'tar-stream'
import { pseudoRandom } from '../support/bytes.ts'
import { type AuditContext, type GatewayAudit, get, getError } from './audit.ts'
import type { GatewayAnswer } from './client.ts'
import { directoryBlock as directoryOf, pbBlock, rawBlock } from './world.ts'

const MIB = 1024 ** 2

async function block(code: number, bytes: Uint8Array): Promise<[CID, Uint8Array]> {
  return [CID.createV1(code, await sha256.digest(bytes)), bytes]
}

/** Returns the CIDs of a CAR in order, after verifying each block. */
async function carOf(answer: GatewayAnswer): Promise<string[]> {
  assert.ok(!answer.isBroken)
  assert.match(answer.header('content-type') ?? '', /^application\/vnd\.ipld\.car; version=1; order=dfs; dups=[yn]$/)
  const reader = await CarReader.fromBytes(answer.body)
  const cids: string[] = []
  for await (const { cid, bytes } of reader.blocks()) {
    const digest = await sha256.digest(bytes)
    assert.deepEqual(digest.bytes, cid.multihash.bytes)
    cids.push(cid.toString())
  }
  return cids
}

async function getCar(context: AuditContext, path: string, accept?: string): Promise<string[]> {
  return carOf(await get(context, path, 200, accept === undefined ? {} : { accept }))
}

/** Formats for programs: blocks, archives, documents. */
export const formatAudits: readonly GatewayAudit[] = [
  {
    id: 'raw.block',
    name: 'MUST serve any block unmodified (trustless gateway, Block Responses)',
    async run(context) {
      const { world } = context
      const bytes = pseudoRandom(3 * MIB, 'raw')
      const dir = await world.addDirectory({ file: bytes })
      const answers = [
        await get(context, `/ipfs/${dir}?format=raw`, 200),
        await get(context, `/ipfs/${dir}`, 200, { accept: 'application/vnd.ipld.raw' }),
      ]
      for (const answer of answers) {
        assert.ok(answer.body.equals(await world.read(dir)))
        assert.equal(answer.header('content-type'), 'application/vnd.ipld.raw')
        assert.equal(answer.header('etag'), `"${dir}.raw"`)
        assert.equal(answer.header('content-disposition'), `attachment; filename="${dir}.bin"`)
        assert.equal(answer.header('x-content-type-options'), 'nosniff')
      }
      assert.equal(answers[0]?.header('content-location'), undefined)
      assert.equal(answers[1]?.header('content-location'), '?format=raw')
      const part = await get(context, `/ipfs/${dir}/file?format=raw`, 206, { range: 'bytes=0-3' })
      assert.equal(part.body.length, 4)
    },
  },
  {
    id: 'format.choice',
    name: 'MUST prefer ?format= to Accept, pass over unknown types, and refuse unknown formats (format)',
    async run(context) {
      const dir = await context.world.addDirectory({ 'a.txt': 'text' })
      const path = `/ipfs/${dir}/a.txt`
      const type = async (query: string, accept: string): Promise<string | undefined> =>
        (await get(context, path + query, 200, { accept })).header('content-type')
      assert.equal(await type('?format=raw', 'application/vnd.ipld.car'), 'application/vnd.ipld.raw')
      assert.equal(await type('', 'image/png, application/vnd.ipld.raw, */*'), 'application/vnd.ipld.raw')
      assert.equal(await type('', 'text/html, application/vnd.ipld.raw;q=0.5'), 'text/plain; charset=utf-8')
      assert.equal(await type('', 'application/vnd.ipld.raw;q=0'), 'text/plain; charset=utf-8')
      assert.equal(await type('', 'application/json'), 'text/plain; charset=utf-8')
      assert.equal(await type('?format=cbor', '*/*'), 'text/plain; charset=utf-8')
      await getError(context, `${path}?format=zip`, 400, 'VALIDATION')
      await getError(context, `${path}?format=ipns-record`, 400, 'VALIDATION')
    },
  },
  {
    id: 'car.all',
    name: 'MUST send the blocks of the path, then all below it, each once and nothing else (CAR Responses)',
    async run(context) {
      const { world } = context
      const bytes = pseudoRandom(2 * MIB + 5, 'car')
      const tree = { other: 'left out', sub: { big: bytes, small: 'x', again: { small: 'x' } } }
      const dir = await world.addDirectory(tree)
      const sub = await world.addDirectory(tree.sub)
      const big = await world.addFile(bytes)
      const small = await world.addFile('x')
      const again = await world.addDirectory(tree.sub.again)
      const leaves = await Promise.all(
        [0, MIB, 2 * MIB].map(start => block(0x55, bytes.subarray(start, start + MIB)).then(([cid]) => cid)),
      )
      const expected = [dir, sub, again, small, big, ...leaves].map(String)
      assert.deepEqual(await getCar(context, `/ipfs/${dir}/sub?format=car`), expected)
      const withDups = await getCar(context, `/ipfs/${dir}/sub`, 'application/vnd.ipld.car; dups=y')
      assert.deepEqual(withDups, [...expected, small.toString()])
      const answer = await get(context, `/ipfs/${dir}/sub?format=car`, 200)
      assert.equal(answer.header('accept-ranges'), 'none')
      assert.equal(answer.header('content-disposition'), `attachment; filename="${sub}.car"`)
      assert.match(answer.header('etag') ?? '', new RegExp(`^W/"${sub}\\.car\\.`))
      assert.equal((await context.request('HEAD', `/ipfs/${dir}/sub?format=car`)).status, 200)
    },
  },
  {
    id: 'car.scopes',
    name: 'MUST limit a CAR to a block, or to the blocks of the entity (dag-scope)',
    async run(context) {
      const { world } = context
      const names = Array.from({ length: 6000 }, (_, index) => `a longer name for number ${index}`)
      const dir = await world.addDirectory({ many: Object.fromEntries(names.map(name => [name, '1'])), 'f.txt': 'x' })
      const file = (await get(context, `/ipfs/${dir}/f.txt`, 200)).header('etag')?.slice(1, -1)
      const scoped = (path: string, scope: string): Promise<string[]> =>
        getCar(context, `/ipfs/${dir}${path}?format=car&dag-scope=${scope}`)
      assert.deepEqual(await scoped('', 'block'), [dir.toString()])
      assert.deepEqual(await scoped('/', 'entity'), [dir.toString()])
      assert.deepEqual(await scoped('/f.txt', 'block'), [dir.toString(), file])
      const shards = await scoped('/many', 'entity')
      assert.ok(shards.length > 100)
      assert.ok(shards.every(cid => cid.startsWith('bafy')))
      const all = await scoped('/many', 'all')
      assert.equal(all.length, shards.length + 1)
      const path = await scoped(`/many/${encodeURIComponent(names[17] ?? '')}`, 'block')
      assert.ok(path.length > 3 && path.length < 7, 'the shards on the way and no others')
      await getError(context, `/ipfs/${dir}?format=car&dag-scope=some`, 400, 'VALIDATION')
    },
  },
  {
    id: 'car.bytes',
    name: 'MUST send only the blocks that a range of a file needs (entity-bytes)',
    async run(context) {
      const { world } = context
      const bytes = pseudoRandom(4 * MIB, 'entity')
      const cid = await world.addFile(bytes)
      const leaves = await Promise.all(
        [0, 1, 2, 3].map(index =>
          block(0x55, bytes.subarray(index * MIB, (index + 1) * MIB)).then(([leaf]) => `${leaf}`),
        ),
      )
      const blocksOf = (range: string): Promise<string[]> =>
        getCar(context, `/ipfs/${cid}?format=car&dag-scope=entity&entity-bytes=${range}`)
      const root = cid.toString()
      assert.deepEqual(await blocksOf('0:*'), [root, ...leaves])
      assert.deepEqual(await blocksOf('0:0'), [root, leaves[0]])
      assert.deepEqual(await blocksOf(`${MIB - 1}:${MIB}`), [root, leaves[0], leaves[1]])
      assert.deepEqual(await blocksOf('-5:*'), [root, leaves[3]])
      assert.deepEqual(await blocksOf(`${2 * MIB}:-${MIB + 1}`), [root, leaves[2]])
      assert.deepEqual(await blocksOf('-99999999:*'), [root, ...leaves])
      assert.deepEqual(await blocksOf('5:3'), [root])
      for (const bad of ['x', '1', '*:1', `${4 * MIB}:*`]) {
        await getError(context, `/ipfs/${cid}?format=car&entity-bytes=${bad}`, 400, 'VALIDATION')
      }
      const dir = await world.addDirectory({ a: '1' })
      // A header cannot hold all of them, so none may become part of the ETag.
      for (const ignored of ['0:9', '%E2%82%AC', '%00']) {
        assert.deepEqual(await getCar(context, `/ipfs/${dir}?format=car&entity-bytes=${ignored}`), [dir.toString()])
      }
    },
  },
  {
    id: 'car.variants',
    name: 'MUST refuse unsupported kinds of CAR (CAR format signaling in Request)',
    async run(context) {
      const cid = await context.world.addDirectory({ a: '1' })
      const path = `/ipfs/${cid}`
      await getCar(context, path, 'application/vnd.ipld.car; version=1; order=unk; dups=n')
      await getCar(context, path, 'application/vnd.ipld.car;order=foo, application/vnd.ipld.car;order=dfs;q=0.5')
      await getError(context, path, 406, 'NOT_ACCEPTABLE', { accept: 'application/vnd.ipld.car; version=2' })
      await getError(context, `${path}?format=car&car-version=2`, 400, 'VALIDATION')
      const overridden = await get(context, `${path}?format=car&car-dups=n`, 200, {
        accept: 'application/vnd.ipld.car; dups=y',
      })
      assert.match(overridden.header('content-type') ?? '', /dups=n$/)
    },
  },
  {
    id: 'car.identity',
    name: 'MUST NOT send blocks of identity CIDs (CAR dups)',
    async run(context) {
      assert.deepEqual(await getCar(context, '/ipfs/bafkqaaa?format=car'), [])
    },
  },
  {
    id: 'car.symlinks',
    name: 'MUST send every block once though a path meets it twice (dag-scope=all)',
    async run(context) {
      const tree = { dir: { back: { link: '..' }, x: 'x' }, y: 'y' }
      const dir = await context.world.addDirectory(tree)
      const through = await getCar(context, `/ipfs/${dir}/dir/back/dir?format=car`)
      assert.equal(new Set(through).size, through.length)
      const whole = await getCar(context, `/ipfs/${dir}?format=car`)
      assert.deepEqual([...through, ...whole.filter(cid => !through.includes(cid))].toSorted(), whole.toSorted())
      assert.ok(through.includes((await context.world.addFile('x')).toString()))
    },
  },
  {
    id: 'tar.tree',
    name: 'MUST serve a tree as TAR that unpacks to the same (path gateway, application/x-tar)',
    async run(context) {
      const { world } = context
      const long = `${'long'.repeat(40)}.txt`
      const bytes = pseudoRandom(MIB + 100, 'tar')
      const dir = await world.addDirectory({
        sub: { 'b.bin': bytes, 'ü 😀': 'name', [long]: 'long' },
        l: { link: 'sub/b.bin' },
      })
      const answer = await get(context, `/ipfs/${dir}?format=tar`, 200)
      assert.equal(answer.header('content-type'), 'application/x-tar')
      assert.match(answer.header('content-disposition') ?? '', /^attachment; filename=".*\.tar"/)
      const entries = new Map<string, string | Buffer>()
      const unpack = extract()
      unpack.end(answer.body)
      for await (const entry of unpack) {
        const parts: Uint8Array[] = []
        for await (const part of entry) parts.push(part as Uint8Array)
        const { type, name, linkname } = entry.header
        entries.set(name, type === 'symlink' ? `-> ${linkname}` : type === 'directory' ? 'dir' : Buffer.concat(parts))
      }
      assert.deepEqual(
        entries,
        new Map<string, string | Buffer>([
          [`${dir}/`, 'dir'],
          [`${dir}/l`, '-> sub/b.bin'],
          [`${dir}/sub/`, 'dir'],
          [`${dir}/sub/b.bin`, bytes],
          [`${dir}/sub/${long}`, Buffer.from('long')],
          [`${dir}/sub/ü 😀`, Buffer.from('name')],
        ]),
      )
    },
  },
  {
    id: 'tar.relative',
    name: 'MUST unpack an entry inside the root, and answer an error for one that leads out of it (path gateway, TAR)',
    async run(context) {
      const { world } = context
      const file = await rawBlock(Buffer.from('hello'))
      const link = await pbBlock({
        Data: new UnixFS({ type: 'symlink', data: Buffer.from('/etc') }).marshal(),
        Links: [],
      })
      const upOne = await directoryOf([['../file', file[0]]])
      const inside = await directoryOf([['sub', upOne[0]]])
      const dir = await world.addBlocks([file, upOne, inside])
      const { body } = await get(context, `/ipfs/${dir}?format=tar`, 200)
      const names: string[] = []
      const unpack = extract()
      unpack.end(body)
      for await (const entry of unpack) {
        names.push(entry.header.name)
        entry.resume()
      }
      assert.deepEqual(names, [`${dir}/`, `${dir}/sub/`, `${dir}/file`])
      const refused = [
        // Outside the root, directly or after names inside it.
        [upOne],
        [
          await directoryOf([['sub', (await directoryOf([['../../x', file[0]]]))[0]]]),
          await directoryOf([['../../x', file[0]]]),
        ],
        // The entry's name exists already, so unpacking it would write through or over the existing one.
        [
          await directoryOf([
            ['file', link[0]],
            ['sub', upOne[0]],
          ]),
          upOne,
          link,
        ],
        [
          await directoryOf([['sub', (await directoryOf([['../file', link[0]]]))[0]]]),
          await directoryOf([['../file', link[0]]]),
          link,
        ],
        [await directoryOf([['a/b', file[0]]])],
        [await directoryOf([['..', file[0]]])],
      ]
      for (const blocks of refused) {
        const root = await world.addBlocks([file, ...blocks.toReversed()])
        await getError(context, `/ipfs/${root}?format=tar`, 400, 'INVALID_CID')
      }
    },
  },
  {
    id: 'document.codecs',
    name: 'MUST serve documents unmodified, only in the format of their codec (IPIP-0524)',
    async run(context) {
      const { world } = context
      const value = { hello: 'world', list: [1, 2, 3] }
      const cases = [
        ['dag-json', 'json', await block(0x0129, dagJson.encode(value))],
        ['dag-cbor', 'cbor', await block(0x71, dagCbor.encode(value))],
        ['json', 'json', await block(0x0200, Buffer.from('{"a": 1}'))],
        ['cbor', 'cbor', await block(0x51, dagCbor.encode({ a: 1 }))],
      ] as const
      for (const [format, plain, own] of cases) {
        const cid = await world.addBlocks([own])
        const type = format.startsWith('dag') ? `application/vnd.ipld.${format}` : `application/${format}`
        const answer = await get(context, `/ipfs/${cid}`, 200)
        assert.equal(answer.header('content-type'), type)
        assert.ok(answer.body.equals(own[1]))
        assert.equal(answer.header('etag'), `"${cid}.${format}"`)
        const disposition = plain === 'json' ? 'inline' : 'attachment'
        assert.equal(answer.header('content-disposition'), `${disposition}; filename="${cid}.${plain}"`)
        assert.equal((await get(context, `/ipfs/${cid}?format=${format}`, 200)).header('content-type'), type)
        const asPlain = await get(context, `/ipfs/${cid}?format=${plain}`, 200)
        assert.equal(asPlain.header('content-type'), `application/${plain}`)
        const other = plain === 'json' ? 'dag-cbor' : 'dag-json'
        await getError(context, `/ipfs/${cid}?format=${other}`, 406, 'NOT_ACCEPTABLE')
      }
      const file = await world.addDirectory({ a: '1' })
      await getError(context, `/ipfs/${file}?format=dag-json`, 406, 'NOT_ACCEPTABLE')
      await getError(context, `/ipfs/${file}`, 406, 'NOT_ACCEPTABLE', { accept: 'application/vnd.ipld.dag-cbor' })
    },
  },
  {
    id: 'document.links',
    name: 'MUST follow the links of documents, and show them to browsers (path gateway, Response Payload)',
    async run(context) {
      const { world } = context
      const text = await block(0x55, Buffer.from('linked'))
      const inner = await block(0x71, dagCbor.encode({ deep: { file: text[0] } }))
      const outer = await block(0x0129, dagJson.encode({ '<b>': [inner[0]] }))
      const cid = await world.addBlocks([text, inner, outer])
      assert.equal((await get(context, `/ipfs/${cid}/<b>/0/deep/file`, 200)).text, 'linked')
      for (const path of ['deep', '<b>/1', '<b>/0/none', 'constructor', '<b>/length', '<b>/0/deep/file/x']) {
        await getError(context, `/ipfs/${cid}/${path}`, 404, 'NOT_FOUND')
      }
      for (const path of ['<b>', '<b>/0/deep', '<b>/0/deep?format=dag-cbor', '<b>?format=raw']) {
        await getError(context, `/ipfs/${cid}/${path}`, 501, 'NOT_IMPLEMENTED')
      }
      const page = await get(context, `/ipfs/${cid}`, 200, { accept: 'text/html' })
      assert.match(page.header('content-type') ?? '', /^text\/html/)
      assert.ok(!page.text.includes('<b>') && page.text.includes('&lt;b&gt;'))
      assert.deepEqual(
        await getCar(context, `/ipfs/${cid}?format=car`),
        [outer, inner, text].map(([key]) => `${key}`),
      )
    },
  },
]
