import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
import { describe, expect, test } from 'vitest'
import { holdBlock } from '../../../adapters/kubo/hold-block.ts'
import type { KuboBackend } from '../../../adapters/kubo/kubo-backend.ts'
import { GatewaysReader } from '../../../adapters/remote/gateways-reader.ts'
import type { BlockSource } from '../../../src/content/block-source.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { CODEC, identityOf } from '../../../src/ipld/cid.ts'
import { GatewayClient } from '../../../src/outgoing/gateway-client.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { dagBytes } from '../../support/read-back.ts'
import {
  ask,
  blocksOf,
  MARK,
  onReal,
  onRealKubo,
  onRecorded,
  onReplay,
  type Places,
  pinsOf,
  withBackend,
} from './kubo-under-test.ts'

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 100_000, 'backend')
const OTHER_MARK = 'holdfast:fedcba9876543210'

/** Defines a test on a real Kubo and one on recorded answers. */
function both(name: string, run: (places: Places, backend: KuboBackend) => Promise<void>): void {
  const on = (places: Places) => withBackend(places, backend => run(places, backend))
  test(`${name} (a real Kubo)`, onRealKubo, () => onReal(name, on))
  test(`${name} (recorded)`, onRecorded, () => onReplay(name, on))
}

/** Pins the content with the block of its hold. */
async function kept(backend: KuboBackend, { hold = 'one', mark = MARK } = {}) {
  const outside = new Outside()
  const root = await outside.add(CONTENT)
  await backend.pin({ hold, root, source: outside, origins: [] })
  const block = await holdBlock(mark, hold, identityOf(root))
  return { outside, root, dag: identityOf(root), block }
}

describe('pins of a Kubo', () => {
  both('a user who pins the same root keeps that pin, made before or after', async ({ api }, backend) => {
    const { root, dag, block, outside } = await kept(backend)
    const own = CID.createV0(root.multihash as Parameters<typeof CID.createV0>[0]).toString()
    await ask(api, `pin/add?arg=${root}&name=mine`)
    await ask(api, `pin/add?arg=${own}&name=mine%20of%20old`)
    const theirs = { [root.toString()]: 'mine', [own]: 'mine of old' }
    expect(await pinsOf(api)).toEqual({ ...theirs, [block.cid.toString()]: block.name })
    await backend.unpin('one', dag)
    expect(await pinsOf(api)).toEqual(theirs)
    expect((await backend.status(dag)).state).toBe('unpinned')

    await backend.pin({ hold: 'one', root, source: outside, origins: [] })
    expect(await pinsOf(api)).toEqual({ ...theirs, [block.cid.toString()]: block.name })
    await ask(api, `pin/rm?arg=${root}`)
    await ask(api, `pin/rm?arg=${own}`)
    expect(await blocksOf(api)).toBe(4)
    expect((await backend.status(dag)).state).toBe('pinned')
    await backend.unpin('one', dag)
    expect(await blocksOf(api)).toBe(0)
  })

  both('a block of ours that is pinned under another name is neither counted nor removed', async (places, backend) => {
    const { api } = places
    const { root, dag, block, outside } = await kept(backend)
    await ask(api, `pin/add?arg=${block.cid}&name=${encodeURIComponent(`${MARK} mine`)}`)
    await backend.unpin('one', dag)
    expect(await pinsOf(api)).toEqual({ [block.cid.toString()]: `${MARK} mine` })
    expect((await backend.status(dag)).state).toBe('unpinned')
    for await (const page of backend.pins()) expect(page).toEqual([])
    const again = backend.pin({ hold: 'one', root, source: outside, origins: [] })
    await expect(again).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/another user/) })
    expect(await pinsOf(api)).toEqual({ [block.cid.toString()]: `${MARK} mine` })
  })

  both('a pin that only calls itself ours is not', async ({ api }, backend) => {
    const { root, dag, block } = await kept(backend)
    await ask(api, `pin/add?arg=${root}&name=${encodeURIComponent(block.name)}`)
    await backend.unpin('one', dag)
    expect(await pinsOf(api)).toEqual({ [root.toString()]: block.name })
    expect((await backend.status(dag)).state).toBe('unpinned')
    for await (const page of backend.pins()) expect(page).toEqual([])
  })

  both('two nodes may use one Kubo for the same content', async (places, backend) => {
    const { dag } = await kept(backend)
    await withBackend(
      places,
      async other => {
        await kept(other, { mark: OTHER_MARK })
        expect(Object.keys(await pinsOf(places.api))).toHaveLength(2)
        await backend.unpin('one', dag)
        expect((await backend.status(dag)).state).toBe('unpinned')
        expect((await other.status(dag)).state).toBe('pinned')
        expect(await blocksOf(places.api)).toBe(4)
      },
      { mark: OTHER_MARK },
    )
  })

  both(
    'content is the same by both versions of its CID, and known without having been asked for',
    async (places, first) => {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      const old = CID.createV0(root.multihash as Parameters<typeof CID.createV0>[0])
      await first.pin({ hold: 'another', root: old, source: outside, origins: [] })
      await withBackend(places, async backend => {
        const { state, allocations } = await backend.status(identityOf(root))
        expect(state).toBe('pinned')
        expect(allocations).toEqual([{ peer: expect.stringMatching(/^12D3Koo/), state: 'pinned', error: null }])
        const raw = { codec: CODEC.raw, multihash: root.multihash.bytes }
        expect((await backend.status(raw)).state).toBe('unpinned')
      })
    },
  )

  both(
    'takes content of every codec, blocks of up to 4 MiB, and what CIDs have in themselves',
    async (places, backend) => {
      const blocks = new Map<string, Uint8Array>()
      const put = async (codec: number, bytes: Uint8Array): Promise<CID> => {
        const cid = CID.createV1(codec, await sha256.digest(bytes))
        blocks.set(cid.toString(), bytes)
        return cid
      }
      const large = await put(CODEC.raw, Buffer.alloc(4 * 1024 ** 2, 7))
      const json = await put(CODEC.json, Buffer.from('{"plain":true}'))
      const cbor = await put(CODEC.cbor, dagCbor.encode({ plain: true }))
      const inline = CID.createV1(CODEC.raw, identity.digest(Buffer.from('in itself')))
      const nested = await put(CODEC.dagJson, dagJson.encode({ large, json }))
      const root = await put(CODEC.dagCbor, dagCbor.encode([nested, cbor, inline]))
      const source: BlockSource = { read: async cid => blocks.get(cid.toString()) ?? Buffer.of() }
      const long = CID.createV1(CODEC.raw, identity.digest(Buffer.alloc(120, 'long')))
      for (const each of [root, large, json, cbor, inline, long]) {
        await backend.pin({ hold: 'one', root: each, source, origins: [] })
        expect((await backend.status(identityOf(each))).state).toBe('pinned')
      }
      const listed: string[] = []
      for await (const page of backend.pins()) listed.push(...page.map(({ hold }) => hold))
      expect(listed).toHaveLength(6)
      expect(await blocksOf(places.api)).toBe(5)
      expect((await dagBytes(backend, root.toString())).blocks.size).toBeGreaterThan(4)
      for (const each of [root, large, json, cbor, inline, long]) await backend.unpin('one', identityOf(each))
      expect(await blocksOf(places.api)).toBe(0)
    },
  )

  both('has all of it again where it has lost some', async (places, backend) => {
    const { outside, root } = await kept(backend)
    const last = CID.parse(outside.reads.at(-1) ?? '')
    places.lose(last)
    await expect(backend.reader?.read(last)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const job = { hold: 'one', root, source: outside, origins: [] }
    await backend.pin(job)
    await expect(backend.reader?.read(last)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await backend.pin({ ...job, isRepair: true })
    expect((await dagBytes(backend, root.toString())).blocks.size).toBe(4)
    expect(Object.keys(await pinsOf(places.api))).toHaveLength(1)
  })

  both('is not believed where it syncs nothing, unless its owner takes the loss', async (places, backend) => {
    const spec = { type: 'mount', mounts: [] as object[] }
    const [{ Value } = { Value: spec }] = (await ask(places.api, 'config?arg=Datastore.Spec')) as Array<{
      Value: typeof spec
    }>
    const mounts = Value.mounts.map(mount => ('sync' in mount ? { ...mount, sync: false } : mount))
    const unsynced = encodeURIComponent(JSON.stringify({ ...Value, mounts }))
    await ask(places.api, `config?arg=Datastore.Spec&arg=${unsynced}&json=true`)
    await expect(kept(backend)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/blocks in flatfs with "sync": false.* acceptUnsyncedBackend/),
    })
    expect(await pinsOf(places.api)).toEqual({})
    expect(await blocksOf(places.api)).toBe(0)
    await withBackend(
      places,
      async accepting => {
        const { dag } = await kept(accepting)
        expect((await accepting.status(dag)).state).toBe('pinned')
      },
      { acceptUnsynced: true },
    )
  })

  both('is read by its gateway, every block checked', async (places, backend) => {
    const { root } = await kept(backend)
    const client = new GatewayClient({ trusted: new Set(), allowPrivate: true })
    try {
      const reader = new GatewaysReader([new URL(places.gateway)], client, systemClock)
      expect((await dagBytes(reader, root.toString())).blocks.size).toBe(4)
      const missing = CID.createV1(CODEC.raw, await sha256.digest(Buffer.from('nowhere')))
      await expect(reader.read(missing)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    } finally {
      await client.close()
    }
  })

  both('tells who it is and what room it has', async (_, backend) => {
    const [peer, ...others] = (await backend.peers?.()) ?? []
    expect(others).toEqual([])
    expect(peer).toEqual({ peer: expect.stringMatching(/^12D3Koo/), freeBytes: expect.any(Number), error: null })
    expect(peer?.freeBytes).toBeGreaterThan(1_000_000_000)
  })

  both('refuses another token, and that is told', async places => {
    await withBackend(
      places,
      async backend => {
        await expect(kept(backend)).rejects.toMatchObject({
          code: 'UNAVAILABLE',
          message: 'the Kubo of the cluster: it answered 403',
        })
      },
      { token: 'another' },
    )
  })
})
