import { createHash } from 'node:crypto'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import * as dagPb from '@ipld/dag-pb'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import * as json from 'multiformats/codecs/json'
import * as Digest from 'multiformats/hashes/digest'
import { describe, expect, test } from 'vitest'
import { CODEC, HASH } from '../../../src/ipld/cid.ts'
import { storeSizes } from '../../support/store-inspection.ts'
import { blockOf, type Dag, directoryOf, fileOf, identityBlock, joined, leaf, randomFile } from './support/dags.ts'
import { withStillNet } from './support/net.ts'

const text = leaf(Buffer.from('a leaf of every tree'))
const file = randomFile(3, 500, 'below every codec')

/** DAGs of every supported codec, with the number of blocks that a pin stores. */
const dags: Record<string, { dag: Dag; blocks: number }> = {
  raw: { dag: text, blocks: 1 },
  'dag-pb': { dag: file, blocks: 4 },
  'dag-cbor': {
    dag: joined(
      blockOf(CODEC.dagCbor, dagCbor.encode({ deep: [{ links: [text.root, file.root] }], text: 'and more' })),
      [text, file],
    ),
    blocks: 6,
  },
  'dag-json': {
    dag: joined(blockOf(CODEC.dagJson, dagJson.encode({ list: [text.root, [file.root]] })), [text, file]),
    blocks: 6,
  },
  cbor: {
    // The bytes look like links, but plain CBOR has none.
    dag: joined(blockOf(CODEC.cbor, dagCbor.encode({ link: file.root })), []),
    blocks: 1,
  },
  json: { dag: joined(blockOf(CODEC.json, json.encode({ '/': file.root.toString() })), []), blocks: 1 },
  'an identity CID that links elsewhere': {
    dag: joined(identityBlock(CODEC.dagCbor, dagCbor.encode([file.root])), [file]),
    blocks: 4,
  },
  'identity CIDs on the way': {
    dag: fileOf([
      joined(identityBlock(CODEC.raw, Buffer.from('inline')), []),
      joined(identityBlock(CODEC.dagPb, dagPb.encode({ Links: [{ Name: '', Tsize: 1, Hash: text.root }] })), [text]),
    ]),
    blocks: 2,
  },
  'SHA-512': { dag: sha512Dag(), blocks: 5 },
  'version 0': { dag: version0(file), blocks: 4 },
  'a block of no bytes': { dag: leaf(Buffer.alloc(0)), blocks: 1 },
}

function sha512Dag(): Dag {
  const bytes = dagCbor.encode({ file: file.root })
  const digest = Digest.create(HASH.sha2_512, createHash('sha512').update(bytes).digest())
  return joined({ cid: CID.createV1(CODEC.dagCbor, digest), bytes }, [file])
}

function version0(dag: Dag): Dag {
  return { ...dag, root: CID.createV0(dag.root.multihash as Parameters<typeof CID.createV0>[0]) }
}

describe('a fetched DAG', () => {
  test.each(Object.entries(dags))('may be %s', (_, { dag, blocks }) =>
    withStillNet(async net => {
      const provider = await net.provider(dag.blocks.filter(({ cid }) => cid.multihash.code !== HASH.identity))
      const node = await net.node({ network: { peers: [provider.address] } })
      const cid = dag.root.toString()
      const { record } = await node.engine.pins.pin({ account: node.account, cid })
      expect(record).toMatchObject({ cid, status: 'pinned', type: 'pin' })
      expect((await storeSizes(node.dataDir)).blocks).toBe(blocks)
      expect((await node.engine.pins.status({ account: node.account, cid }))[0]?.blocks).toBe(blocks)
      const backend = await node.engine.clusters.backendOf()
      for (const block of dag.blocks) {
        expect(Buffer.from((await backend?.reader?.read(block.cid)) ?? [])).toEqual(Buffer.from(block.bytes))
      }
      expect((await node.engine.verify()).damaged).toEqual([])
    }),
  )

  test('may have empty blocks, which some hosts report as missing', () =>
    withStillNet(async net => {
      const empty = leaf(Buffer.alloc(0))
      const dag = directoryOf({ 'no bytes': empty, text })
      const provider = await net.provider(dag.blocks.filter(({ cid }) => !cid.equals(empty.root)))
      const node = await net.node({ network: { peers: [provider.address] } })
      const { record } = await node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
      expect(record).toMatchObject({ status: 'pinned', size: text.size })
      expect((await storeSizes(node.dataDir)).blocks).toBe(3)
    }))

  test('has one identity in every multibase and version, and keeps its spelling', () =>
    withStillNet(async net => {
      const provider = await net.provider(file.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { account } = node
      const forms = [
        file.root.toString(base36),
        file.root.toString(base58btc),
        version0(file).root.toString(),
        ` ${file.root} `,
      ]
      const first = await node.engine.pins.pin({ account, cid: forms[0] ?? '' })
      expect(first.record.cid).toBe(forms[0])
      for (const cid of forms) {
        const again = await node.engine.pins.pin({ account, cid })
        expect(again).toMatchObject({ created: false, record: { uploadId: first.record.uploadId } })
      }
      expect(provider.blocks.total).toBe(file.blocks.length)
    }))
})

describe('an unsupported codec or hash', () => {
  const digest = Digest.create(HASH.sha2_256, createHash('sha256').update('x').digest())
  const blake = Digest.create(0xb220, createHash('sha256').update('x').digest())
  test.each([
    ['codec 0x78', CID.createV1(0x78, digest)],
    ['codec 0x72', CID.createV1(0x72, digest)],
    ['hash 0xb220', CID.createV1(CODEC.raw, blake)],
    ['hash 0x11', CID.createV1(CODEC.raw, Digest.create(0x11, createHash('sha1').update('x').digest()))],
  ])('is refused immediately: %s', (problem, cid) =>
    withStillNet(async net => {
      const provider = await net.provider([])
      const node = await net.node({ network: { peers: [provider.address] } })
      const pinning = node.engine.pins.pin({ account: node.account, cid: cid.toString() })
      const message = expect.stringContaining(problem)
      await expect(pinning).rejects.toMatchObject({ code: 'INVALID_CID', message })
    }),
  )

  test('below the root fails the pin without retry', () =>
    withStillNet(async net => {
      for (const [cid, problem] of [
        [CID.createV1(0x78, digest), 'codec 0x78'],
        [CID.createV1(CODEC.raw, blake), 'hash 0xb220'],
      ] as const) {
        const dag = joined(blockOf(CODEC.dagCbor, dagCbor.encode({ cid })), [text])
        const provider = await net.provider([...dag.blocks, { cid, bytes: Buffer.from('x') }])
        const node = await net.node({ network: { peers: [provider.address] } })
        const { record } = await node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
        expect(record.status).toBe('failed')
        expect(node.reason()).toContain(problem)
        const [status] = await node.engine.pins.status({ account: node.account, cid: record.cid })
        expect(status?.nextAttemptAt).toBe(null)
      }
    }))
})
