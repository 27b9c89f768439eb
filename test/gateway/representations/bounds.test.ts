import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryBudget } from '../../../src/concurrency/capacity/memory-budget.ts'
import { streamFile } from '../../../src/content/unixfs/file-stream.ts'
import { decodeNode } from '../../../src/content/unixfs/node.ts'
import type { Loaded } from '../../../src/content/unixfs/node-cache.ts'
import { streamCar } from '../../../src/gateway/representations/car-stream.ts'
import { streamTar } from '../../../src/gateway/representations/tar-stream.ts'
import { apiRequest, directClient, readBody } from '../client.ts'
import { MapReader } from '../map-reader.ts'
import { AUDIT_HOST, directoryBlock as directory, fileNode, GatewayWorld, pbBlock, rawBlock } from '../world.ts'

type Block = readonly [CID, Uint8Array]

let world: GatewayWorld

beforeEach(async () => {
  world = await GatewayWorld.open()
})

afterEach(() => world.close())

/** Encodes a shard with the given links. Names have their prefixes. */
function shard(links: ReadonlyArray<readonly [name: string, cid: CID]>, fanout = 8n): Promise<Block> {
  const Links = links.map(([name, cid]) => dagPb.createLink(name, 1, cid))
  return pbBlock({ Data: new UnixFS({ type: 'hamt-sharded-directory', fanout, hashType: 0x22n }).marshal(), Links })
}

/** Creates a chain of blocks, each with two links to the previous one. */
async function doubling(
  levels: number,
  first: Block,
  node: (below: CID, size: number) => Promise<Block>,
): Promise<Block[]> {
  const blocks = [first]
  for (let level = 0, size = 1; level < levels; level++, size *= 2) {
    blocks.push(await node(blocks.at(-1)?.[0] ?? first[0], size))
  }
  return blocks
}

function doublingFile(levels: number, leaf: Block): Promise<Block[]> {
  return doubling(levels, leaf, (cid, size) =>
    pbBlock(
      fileNode([
        { cid, size: size * leaf[1].length },
        { cid, size: size * leaf[1].length },
      ]),
    ),
  )
}

function mapOf(blocks: readonly Block[]): Map<string, Uint8Array> {
  return new Map(blocks.map(([cid, bytes]) => [cid.toString(), bytes]))
}

/** Runs work without timers and counts the event-loop turns meanwhile. */
async function countTurns(work: () => Promise<void>): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return turns
}

/** Counts the reads of each block from now on, by CID. */
function countReads(): Map<string, number> {
  const reads = new Map<string, number>()
  const lease = world.content.lease.bind(world.content)
  const counted = new Set<unknown>()
  world.content.lease = root => {
    const held = lease(root)
    if (held === null || counted.has(held.source)) return held
    counted.add(held.source)
    const get = held.source.read.bind(held.source)
    held.source.read = (cid, options) => {
      reads.set(cid.toString(), (reads.get(cid.toString()) ?? 0) + 1)
      return get(cid, options)
    }
    return held
  }
  return reads
}

describe('content that repeats itself', () => {
  test('a repeating file reads each node at most twice', async () => {
    const blocks = await doublingFile(26, await rawBlock(Buffer.from('x')))
    const root = await world.addBlocks(blocks)
    const reads = countReads()
    const client = new AbortController()
    const response = await world.gateway()(apiRequest('GET', `/ipfs/${root}?filename=x.bin`, {}, client.signal))
    expect(response.headers['content-length']).toBe(String(2 ** 26))
    if (response.body === null || typeof response.body !== 'object') throw new Error('no stream')
    let taken = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      taken += chunk.length
      if (taken === 2000) break
    }
    // The walk may have read ahead both links to one block.
    for (const [cid] of blocks.slice(1)) expect(reads.get(cid.toString())).toBeLessThanOrEqual(2)
    expect(world.leases.held().size).toBe(0)
  })

  test('walks end at their limit', async () => {
    const blocks = await doublingFile(26, await rawBlock(Buffer.from('x')))
    const [cid, bytes] = blocks.at(-1) as Block
    const node = decodeNode(cid, bytes)
    if (node.kind !== 'file') throw new Error('a file was built')
    const range = { start: 0, end: node.size }
    const walks = [
      (reader: MapReader) => streamFile(reader, node, range),
      (reader: MapReader) => streamTar(reader, { node, block: bytes }, 'x'),
      (reader: MapReader) => streamCar(reader, { trail: [cid], scope: 'all', range: null, duplicates: true }),
      (reader: MapReader) => streamCar(reader, { trail: [cid], scope: 'entity', range, duplicates: true }),
    ]
    for (const walk of walks) {
      const reader = MapReader.over(mapOf(blocks), { steps: 5_000 })
      let chunks = 0
      const read = async (): Promise<void> => {
        for await (const _ of walk(reader)) chunks++
      }
      await expect(read()).rejects.toMatchObject({ code: 'DIRECTORY_TOO_LARGE' })
      expect(chunks).toBeLessThanOrEqual(5_010)
    }
  })

  test('a CAR counts its blocks against the memory for answers', async () => {
    const content = Buffer.alloc(512 * 1024, 'content')
    const blocks = await doublingFile(1, await rawBlock(content))
    const reader = MapReader.over(mapOf(blocks.map(([cid, bytes]) => [cid, Uint8Array.from(bytes)])))
    const memory = MemoryBudget.of(1024 ** 2, world.clock)
    reader.means = { memory, clock: world.clock, signal: new AbortController().signal }
    reader.sizeOf = cid => (cid.equals(blocks[0]?.[0]) ? content.length : null)
    const trail = [blocks.at(-1)?.[0] as CID]
    const chunks: Uint8Array[] = []
    const used: number[] = []
    for await (const chunk of streamCar(reader, { trail, scope: 'all', range: null, duplicates: false })) {
      chunks.push(Buffer.from(chunk))
      used.push(memory.used)
    }
    expect(Math.max(...used)).toBeGreaterThanOrEqual(content.length)
    expect(memory.used).toBe(0)
    expect(Buffer.concat(chunks).includes(content)).toBe(true)
  })

  test('walks of blocks in memory yield to the event loop', async () => {
    const files = await doublingFile(14, await rawBlock(Buffer.from('x')))
    const folders = await doubling(14, await directory([]), cid =>
      directory([
        ['a', cid],
        ['b', cid],
      ]),
    )
    const walks = [
      (reader: MapReader, loaded: Loaded) =>
        loaded.node.kind === 'file'
          ? streamFile(reader, loaded.node, { start: 0, end: loaded.node.size })
          : streamTar(reader, loaded, 'x'),
      (reader: MapReader, { node: { cid } }: Loaded) =>
        streamCar(reader, { trail: [cid], scope: 'all', range: null, duplicates: true }),
    ]
    for (const blocks of [files, folders]) {
      const [cid, block] = blocks.at(-1) as Block
      for (const walk of walks) {
        const reader = MapReader.over(mapOf(blocks))
        const turns = await countTurns(async () => {
          for await (const _ of walk(reader, { node: decodeNode(cid, block), block }));
        })
        expect(turns).toBeGreaterThan(2)
      }
    }
  })

  test('a CAR without duplicates is as short as its DAG', async () => {
    const blocks = await doublingFile(40, await rawBlock(Buffer.from('x')))
    const reader = MapReader.over(mapOf(blocks), { steps: 100 })
    const [root] = blocks.at(-1) as Block
    for await (const _ of streamCar(reader, { trail: [root], scope: 'all', range: null, duplicates: false }));
    expect(reader.reads).toBeLessThan(blocks.length + 10)
  })

  test('archives of doubling directories end at their limit, listings work', async () => {
    const file = await rawBlock(Buffer.from('x'))
    const blocks = await doubling(30, await directory([['x', file[0]]]), cid =>
      directory([
        ['a', cid],
        ['b', cid],
      ]),
    )
    const root = await world.addBlocks([file, ...blocks])
    const reads = countReads()
    const { request } = directClient(world.gateway({}, { limits: { steps: 3_000 } }))
    const archive = await request('GET', `/ipfs/${root}?format=tar`)
    expect(archive.isBroken).toBe(true)
    expect(archive.body.length).toBeLessThan(3_010 * 2048)
    expect(JSON.parse((await request('GET', `/ipfs/${root}/?format=json`)).text).entries.length).toBe(2)
    for (const [cid] of blocks) expect(reads.get(cid.toString()) ?? 0).toBeLessThanOrEqual(1)
  })

  test('a listing reads a block with 500 names once', async () => {
    const file = await rawBlock(Buffer.from('x'))
    const large = await directory(
      Array.from({ length: 20_000 }, (_, index) => [String(index).padStart(5, '0'), file[0]]),
    )
    const many = await directory(Array.from({ length: 500 }, (_, index) => [String(index).padStart(3, '0'), large[0]]))
    const root = await world.addBlocks([file, large, many])
    const reads = countReads()
    for (const form of ['json', 'html']) {
      const { request } = directClient(world.gateway())
      const listing = await request('GET', `/ipfs/${root}/${form === 'json' ? '?format=json' : ''}`)
      expect(listing.status).toBe(200)
      expect(reads.get(large[0].toString())).toBe(1)
      reads.clear()
    }
  })

  test('doubling shards without entries end at their limit', async () => {
    const blocks = await doubling(20, await shard([]), cid =>
      shard([
        ['0', cid],
        ['1', cid],
      ]),
    )
    const root = await world.addBlocks(blocks)
    const listing = await directClient(world.gateway()).request('GET', `/ipfs/${root}/?format=json`)
    expect(listing.status).toBe(413)
    expect(JSON.parse(listing.text).code).toBe('DIRECTORY_TOO_LARGE')
    const { request } = directClient(world.gateway({}, { limits: { steps: 10_000 } }))
    // Nothing has been sent at that point.
    expect((await request('GET', `/ipfs/${root}?format=tar`)).status).toBe(413)
  })

  test('a walk keeps large blocks only up to its limit', async () => {
    const leaf = await rawBlock(Buffer.from('x'))
    const blocks = [leaf]
    for (let level = 0; level < 10; level++) {
      const [below] = blocks.at(-1) as Block
      const filling = Array.from({ length: 1000 }, () => ({ cid: leaf[0], size: 0 }))
      blocks.push(await pbBlock(fileNode([{ cid: below, size: 1 }, ...filling])))
    }
    const [cid, bytes] = blocks.at(-1) as Block
    const node = decodeNode(cid, bytes)
    if (node.kind !== 'file') throw new Error('a file was built')
    const all = async (openBytes: number): Promise<void> => {
      for await (const _ of streamFile(MapReader.over(mapOf(blocks), { openBytes }), node, { start: 0, end: 1 }));
    }
    await all(10 * bytes.length)
    await expect(all(5 * bytes.length)).rejects.toMatchObject({ code: 'DIRECTORY_TOO_LARGE' })
  })
})

describe('content that is deep', () => {
  test('an archive contains 5,000 nested directories', async () => {
    const blocks = [await directory([])]
    for (let depth = 1; depth < 5_000; depth++) {
      blocks.push(await directory([['d', (blocks.at(-1) as Block)[0]]]))
    }
    const [cid, block] = blocks.at(-1) as Block
    let headers = 0
    for await (const chunk of streamTar(MapReader.over(mapOf(blocks)), { node: decodeNode(cid, block), block }, 'x')) {
      if (chunk.length >= 512) headers++
    }
    expect(headers).toBe(5_001)
  })

  test('an over-long path ends an archive', async () => {
    const blocks = [await directory([])]
    const name = 'd'.repeat(1000)
    for (let depth = 0; depth < 80; depth++) blocks.push(await directory([[name, (blocks.at(-1) as Block)[0]]]))
    const root = await world.addBlocks(blocks)
    const archive = await directClient(world.gateway()).request('GET', `/ipfs/${root}?format=tar`)
    expect(archive.isBroken).toBe(true)
    expect(archive.body.length).toBeLessThan(80 * 70_000)
  })

  test('shards deeper than their hash are refused', async () => {
    const file = await rawBlock(Buffer.from('x'))
    const blocks: Block[] = [await shard([['0x', file[0]]])]
    for (let depth = 0; depth < 100; depth++) blocks.push(await shard([['0', (blocks.at(-1) as Block)[0]]]))
    const deepest = await world.addBlocks([file, ...blocks])
    const { request } = directClient(world.gateway())
    const listing = await request('GET', `/ipfs/${deepest}/?format=json`)
    expect(listing.status).toBe(400)
    expect(JSON.parse(listing.text).message).toMatch(/deeper than any hash/)
    expect((await request('GET', `/ipfs/${deepest}?format=tar`)).status).toBe(400)
    // A shard as deep as its hash is valid.
    const [allowed] = blocks[20] as Block
    const fine = await request('GET', `/ipfs/${allowed}/?format=json`)
    expect(JSON.parse(fine.text).entries.map(({ name }: { name: string }) => name)).toEqual(['x'])
  })
})

describe('content that is large', () => {
  test('100,000 links in one block are found, listed and archived', async () => {
    const COUNT = 100_000
    const file = await rawBlock(Buffer.from('x'))
    const nameOf = (index: number): string => `f${String(index).padStart(6, '0')}`
    const large = await directory(Array.from({ length: COUNT }, (_, index) => [nameOf(index), file[0]]))
    const root = await world.addBlocks([file, large])
    const { request } = directClient(world.gateway())
    expect((await request('GET', `/ipfs/${root}/${nameOf(COUNT - 1)}`)).text).toBe('x')
    const page = JSON.parse((await request('GET', `/ipfs/${root}/?format=json&after=${nameOf(49_999)}`)).text)
    expect(page.entries.length).toBe(500)
    expect(page.entries[0].name).toBe(nameOf(50_000))
    expect(page.next).toBe(nameOf(50_499))
    const reader = MapReader.over(mapOf([file, large]))
    let entries = 0
    const turns = await countTurns(async () => {
      const loaded = { node: decodeNode(...large), block: large[1] }
      for await (const chunk of streamTar(reader, loaded, 'x')) if (chunk.length === 512) entries++
    })
    expect(entries).toBe(1 + COUNT)
    expect(turns).toBeGreaterThan(10)
  })

  test('an aborted walk stops at the next event-loop turn', async () => {
    const blocks = await doubling(20, await shard([]), cid =>
      shard([
        ['0', cid],
        ['1', cid],
      ]),
    )
    const root = await world.addBlocks(blocks)
    for (const target of [`/ipfs/${root}/?format=json`, `/ipfs/${root}/`, `/ipfs/${root}?format=tar`]) {
      const client = new AbortController()
      const answer = world.gateway()(apiRequest('GET', target, {}, client.signal))
      // Arrives after the first turns.
      await new Promise(resolve => setTimeout(resolve, 5))
      client.abort()
      const response = await answer
      if (response.status === 200) expect((await readBody(response)).bytes.length, target).toBe(0)
      else expect(response.status, target).toBe(499)
      expect(world.leases.held().size).toBe(0)
    }
  })
})

describe('paths', () => {
  test('a deep path is answered without the X-Ipfs-Roots header', async () => {
    const blocks: Block[] = [await rawBlock(Buffer.from('deep'))]
    for (let depth = 0; depth < 1000; depth++) blocks.push(await directory([['d', (blocks.at(-1) as Block)[0]]]))
    const root = await world.addBlocks(blocks)
    const { request } = directClient(world.gateway())
    const deep = await request('GET', `/ipfs/${root}${'/d'.repeat(1000)}`)
    expect(deep.text).toBe('deep')
    expect(deep.header('x-ipfs-roots')).toBe(undefined)
    expect((await request('GET', `/ipfs/${root}/d/`)).header('x-ipfs-roots')).toMatch(/^\w+,\w+$/)
  })

  test('a symbolic link with an over-long target is refused', async () => {
    const root = await world.addDirectory({
      far: { link: `${'./'.repeat(2048)}file` },
      near: { link: `${'./'.repeat(1000)}file` },
      file: 'x',
    })
    const { request } = directClient(world.gateway())
    expect((await request('GET', `/ipfs/${root}/near`)).text).toBe('x')
    expect((await request('GET', `/ipfs/${root}/far`)).status).toBe(404)
  })
})

test('a _redirects target that exceeds a header is refused', async () => {
  const root = await world.addDirectory({ _redirects: `/once/* /:splat\n/* /${':splat'.repeat(1000)}` })
  const { request } = directClient(world.gateway({ host: AUDIT_HOST }))
  const host = { host: `${root}.ipfs.${AUDIT_HOST}` }
  expect((await request('GET', `/once/${'x'.repeat(5000)}`, host)).header('location')).toBe(`/${'x'.repeat(5000)}`)
  const long = await request('GET', `/${'x'.repeat(5000)}`, host)
  expect(long.status).toBe(500)
  expect(JSON.parse(long.text).code).toBe('REDIRECTS_INVALID')
})
