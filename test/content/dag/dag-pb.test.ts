import * as dagPb from '@ipld/dag-pb'
import fc from 'fast-check'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { expect, test, vi } from 'vitest'
import { readPbNode } from '../../../src/content/dag/dag-pb.ts'
import { readUnixfs } from '../../../src/content/unixfs/node.ts'
import { ProtobufReader } from '../../../src/ipld/protobuf.ts'

const CIDS = [
  'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy',
  'QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n',
  'bafkqaaa',
].map(text => CID.parse(text))

const link = fc.record(
  { Hash: fc.constantFrom(...CIDS), Name: fc.string({ unit: 'binary', maxLength: 20 }), Tsize: fc.maxSafeNat() },
  { requiredKeys: ['Hash'] },
)
const node = fc
  .record({ Data: fc.option(fc.uint8Array({ maxLength: 20 }), { nil: undefined }), Links: fc.array(link) })
  .map(({ Data, Links }) => dagPb.encode(dagPb.prepare(Data === undefined ? { Links } : { Data, Links })))

/**
 * Returns the node as the reference implementation decodes it; null if it refuses. It accepts version 0 before any
 * multihash, although a CID of version 0 is a SHA-256 multihash of 34 bytes.
 */
function reference(bytes: Uint8Array): dagPb.PBNode | null {
  try {
    const node = dagPb.decode(bytes)
    return node.Links.some(({ Hash }) => Hash.version === 0 && Hash.bytes.length !== 34) ? null : node
  } catch {
    return null
  }
}

function ours(bytes: Uint8Array): dagPb.PBNode | null {
  try {
    const { data, links } = readPbNode(bytes)
    const Links = Array.from({ length: links.length }, (_, index) => ({
      Hash: links.cid(index),
      Name: new TextDecoder().decode(links.nameBytes(index)),
      Tsize: links.size(index),
    }))
    return data === null ? { Links } : { Data: data, Links }
  } catch {
    return null
  }
}

/** Replaces absent names and sizes by empty ones. */
function plain(found: dagPb.PBNode | null): unknown {
  return (
    found && {
      data: found.Data && Buffer.from(found.Data).toString('hex'),
      links: found.Links.map(({ Hash, Name = '', Tsize = 0 }) => [Hash.toString(), Name, Tsize]),
    }
  )
}

test('blocks are read, or refused, as by the reference implementation', () => {
  const changed = fc.tuple(node, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 }))
  fc.assert(
    fc.property(changed, fc.nat(), ([bytes, changes], cut) => {
      const mutant = Uint8Array.from(bytes)
      for (const [at, value] of changes) if (mutant.length > 0) mutant[at % mutant.length] = value
      for (const block of [bytes, mutant, mutant.subarray(0, cut % (mutant.length + 1))]) {
        expect(plain(ours(block))).toEqual(plain(reference(block)))
      }
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['no hash', [0x12, 0]],
  ['only a name', [0x12, 3, 0x12, 1, 0x61]],
  ['a hash of three bytes', [0x12, 5, 0x0a, 3, 1, 0x55, 0]],
])('a block of links with %s is refused at its first link', (_, link) => {
  const block = Uint8Array.from(Array.from({ length: 1000 }, () => link).flat())
  const next = vi.spyOn(ProtobufReader.prototype, 'next')
  try {
    expect(() => readPbNode(block)).toThrow('a DAG-PB link has no CID')
    expect(next.mock.calls.length).toBeLessThan(5)
  } finally {
    next.mockRestore()
  }
})

test('UnixFS data is read as by the reference implementation', () => {
  const kinds = ['raw', 'directory', 'file', 'symlink', 'hamt-sharded-directory'] as const
  const data = fc.record({
    type: fc.constantFrom(...kinds),
    data: fc.uint8Array({ maxLength: 20 }),
    blockSizes: fc.array(fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }), { maxLength: 5 }),
    fanout: fc.bigInt({ min: 0n, max: 4096n }),
    mode: fc.nat({ max: 0o7777 }),
  })
  const same = { raw: 'file', file: 'file', directory: 'directory', symlink: 'symlink' } as Record<string, string>
  fc.assert(
    fc.property(data, input => {
      const bytes = new UnixFS({ ...input, data: Uint8Array.from(input.data) }).marshal()
      const expected = UnixFS.unmarshal(bytes)
      const { attributes, ...read } = readUnixfs(bytes, 10) ?? {}
      expect(attributes?.mode ?? 0).toBe(input.mode & 0o777)
      expect(read).toEqual({
        type: same[expected.type] ?? 'shard',
        data: expected.data === undefined ? null : Uint8Array.from(expected.data),
        sizes: expected.blockSizes.map(Number),
        fanout: Number(expected.fanout ?? 0),
      })
    }),
  )
  expect(readUnixfs(Uint8Array.from([8, 99]), 0)).toBe(null)
  expect(readUnixfs(Uint8Array.from([18, 200]), 0)).toBe(null)
})

test('sizes beyond the number of links are dropped', () => {
  const bytes = new UnixFS({ type: 'file', blockSizes: Array.from({ length: 1000 }, () => 1n) }).marshal()
  expect(readUnixfs(bytes, 3)?.sizes.length).toBe(4)
})
