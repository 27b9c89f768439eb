import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, NewAttributes, UnixTime } from '../../../src/index.ts'
import { readFile } from '../../support/read-back.ts'
import { withEngine } from '../../support/test-engine.ts'

const MiB = 1024 ** 2
const mtime = { seconds: 1_604_320_500, nanoseconds: 55_555 }
const mode = 0o644
const hello = Buffer.from('hello\n')

/** Returns bytes that `ipfs add` read when the CIDs of this file were made. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = i * 7 + (i >> 8) * 13 + (i >> 16) * 31
  return bytes
}

function* zeros(): Generator<Uint8Array> {
  for (let i = 0; i < 1_025; i++) yield Buffer.alloc(MiB)
}

const FILES: ReadonlyArray<[string, Uint8Array | Iterable<Uint8Array>, NewAttributes, string]> = [
  ['no bytes', hello.subarray(6), { mode, mtime }, 'bafybeibtyaeufxafodqh3ei2q75mfjc4h6zrb66m7kl233ohjxfyfyp4we'],
  ['one block', hello, { mode, mtime }, 'bafybeib4n6pdz4cupqucj5o3segmnxktj2zu3usieo3q66siemht5ltzna'],
  [
    'whole seconds',
    hello,
    { mode: 0o600, mtime: new Date(1_604_320_500_000) },
    'bafybeibhggbamb77ki3c2xmp2nwwvyggicrwdfpslu33d64peas2x4gzni',
  ],
  ['the epoch', hello, { mode, mtime: new Date(0) }, 'bafybeidkrmmjocvjs7mj3ho7cza2r4iozw2kljwt2zztgbwnl2gk7xc664'],
  [
    'before 1970',
    hello,
    { mode, mtime: new Date(-1_500) },
    'bafybeifwzhpawhu4cxgtbz3sndpcqxzosfxb7ynwj55b7fwhtcsx5vxo6q',
  ],
  ['setuid', hello, { mode: 0o4755, mtime }, 'bafybeicmmfsjkc3s55ve43bexgznztcqllv7sdftr4dtwzr3rbtcsyonvm'],
  ['mode 0', hello, { mode: 0, mtime }, 'bafybeidzjxzlxkaq7i5uy6owwkf76trw5vs56qfujime2joupqfabw5sui'],
  [
    'a chunk less one',
    pattern(MiB - 1),
    { mode, mtime },
    'bafybeidac4gsc33d7bfbmnejrmd3jyh6vbffv3bbyv44jwndikepmqxo44',
  ],
  ['a chunk', pattern(MiB), { mode, mtime }, 'bafybeiazvv2p5d2rh3dvhxti3inlvxkw4aypdxhbp43zxushdlwjf2k7bi'],
  [
    'a chunk and a byte',
    pattern(MiB + 1),
    { mode, mtime },
    'bafybeias3ggykqrlcoallqi3scr6tk7vm3xylur6oupjwlgfhq6inlhdxm',
  ],
  ['three chunks', pattern(3 * MiB), { mode, mtime }, 'bafybeibmtz5lyvlec5tikmkm2cdfcmzbwc7k3d2ke6ra4xzeyfbqeprkhi'],
  ['two levels', zeros(), { mode, mtime }, 'bafybeihzhgaxhjyczcagocnkt7vy2bgazvfguwomfvnfvgtamzd7iparky'],
]

/** CIDs of `ipfs add --preserve-mode --preserve-mtime --raw-leaves=false` in Kubo 0.44 under `unixfs-v1-2025`. */
describe('attributes give the CIDs of Kubo', () => {
  test.each(FILES)('to a file: %s', (name, content, attributes, cid) =>
    withEngine(async ({ engine, account }) => {
      const { record } = await engine.pins.upload(content, { account, ...attributes })
      expect(record.cid).toBe(cid)
      if (!(content instanceof Uint8Array)) return
      expect(record.size).toBe(content.length)
      expect(Buffer.compare(await readFile(await engine.clusters.backendOf(), cid), content)).toBe(0)
      const streamed = await engine.pins.upload([content], { account, name, ...attributes })
      expect(streamed.record.cid).toBe(cid)
    }),
  )

  test.each([
    [4_765, 'bafybeibc5keku67npmpghjdu7wp6uhgrc445lkyups2p55mmc2ieyt5do4'],
    [4_766, 'bafybeidfg4bsjfsp7iithq73ui3l6hdpmw6is636cbmuzsa7u3tjkmkeuy'],
  ])('to a directory of %i files, with a HAMT above the limit', (count, cid) =>
    withEngine(async ({ engine, account }) => {
      const entries = function* (): Generator<DirectoryEntry> {
        yield { kind: 'directory', path: '.', mode: 0o755, mtime: later(2) }
        for (let i = 0; i < count; i++) {
          yield { kind: 'file', path: `name-${String(i).padStart(6, '0')}`, content: 'x', mode, mtime }
        }
      }
      const { record } = await engine.pins.uploadDirectory(entries(), { account })
      expect(record.cid).toBe(cid)
    }),
  )

  test('to directories and links, from entries and by server path', () =>
    withEngine(async ({ engine, account }) => {
      const cid = 'bafybeibooi4ftnnh6lpv5s7l4u5xvuyhqgfouo35yzsc3vygp375lgaxum'
      const inner = { kind: 'directory', mode: 0o750, mtime: later(1) } as const
      const { record } = await engine.pins.uploadDirectory(
        [
          { kind: 'file', path: 'sub/b.txt', content: 'b', mode: 0o755, mtime },
          { ...inner, path: 'sub' },
          { ...inner, path: 'nothing' },
          { kind: 'file', path: 'a.txt', content: 'a', mode, mtime },
          { kind: 'symlink', path: 'link', target: 'a.txt', mtime },
          { kind: 'directory', path: '.', mode: 0o755, mtime: later(2) },
        ],
        { account },
      )
      expect(record.cid).toBe(cid)
      await makeTree(join(engine.importRoots[0] ?? '', 'tree'))
      const imported = await engine.pins.importDirectory('tree', { account, preserveMode: true, preserveMtime: true })
      expect(imported.record.cid).toBe(cid)
      const plain = await engine.pins.importDirectory('tree', { account })
      const without = await engine.pins.uploadDirectory(
        [
          { kind: 'file', path: 'sub/b.txt', content: 'b' },
          { kind: 'directory', path: 'nothing' },
          { kind: 'file', path: 'a.txt', content: 'a' },
          { kind: 'symlink', path: 'link', target: 'a.txt' },
        ],
        { account },
      )
      expect(plain.record.cid).toBe(without.record.cid)
    }))
})

describe('attributes', () => {
  test.each<[unknown]>([
    [{ mode: -1 }],
    [{ mode: 0o10000 }],
    [{ mode: 1.5 }],
    [{ mode: '644' }],
    [{ mtime: new Date(Number.NaN) }],
    [{ mtime: 1_604_320_500_000 }],
    [{ mtime: { seconds: 2 ** 53 } }],
    [{ mtime: { seconds: 0.5 } }],
    [{ mtime: { seconds: 1, nanoseconds: 1e9 } }],
    [{ mtime: { seconds: 1, nanoseconds: -1 } }],
    [{ mtime: null }],
  ])('that cannot be stored are refused: %j', attributes =>
    withEngine(async ({ engine, account }) => {
      const options = { account, ...(attributes as NewAttributes) }
      const field = expect.stringMatching(/mode|mtime/)
      await expect(engine.pins.upload('x', options)).rejects.toMatchObject({ code: 'VALIDATION', message: field })
      const entry = { kind: 'file', path: 'a', content: 'x', ...(attributes as NewAttributes) } as const
      await expect(engine.pins.uploadDirectory([entry], { account })).rejects.toMatchObject({
        code: 'VALIDATION',
        message: expect.stringMatching(/^entries: a: (mode|mtime)/),
      })
    }),
  )
})

/** A time that differs only in nanoseconds. */
function later(nanoseconds: number): UnixTime {
  return { seconds: mtime.seconds, nanoseconds: mtime.nanoseconds + nanoseconds }
}

async function makeTree(tree: string): Promise<void> {
  for (const directory of ['sub', 'nothing']) await mkdir(join(tree, directory), { recursive: true })
  await writeFile(join(tree, 'a.txt'), 'a')
  await writeFile(join(tree, 'sub/b.txt'), 'b')
  await symlink('a.txt', join(tree, 'link'))
  const modes = { 'a.txt': 0o644, 'sub/b.txt': 0o755, sub: 0o750, nothing: 0o750, '.': 0o755 }
  for (const [path, permissions] of Object.entries(modes)) await chmod(join(tree, path), permissions)
  // Node.js sets times of floating-point precision, so `touch` sets them.
  const nanoseconds = { 'a.txt': 0, 'sub/b.txt': 0, link: 0, sub: 1, nothing: 1, '.': 2 }
  for (const [path, extra] of Object.entries(nanoseconds)) {
    const time = `@${mtime.seconds}.${String(mtime.nanoseconds + extra).padStart(9, '0')}`
    execFileSync('touch', ['--no-dereference', `--date=${time}`, join(tree, path)])
  }
}
