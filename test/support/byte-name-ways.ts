import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { CarReader } from '@ipld/car'
import { CID } from 'multiformats/cid'
import { expect } from 'vitest'
import { patientFetch } from '../../adapters/cli/patient-fetch.ts'
import { readTar } from '../../adapters/cli/tar-reader.ts'
import { bytesOfText, isFileName, textOfBytes, uriOfText } from '../../src/domain/byte-text.ts'
import { carOf } from '../content/car/support/cars.ts'
import { rawBlock } from '../gateway/world.ts'
import { type Block, type ByteLink, byteDirectory, byteShards } from './byte-dags.ts'
import { pseudoRandom } from './bytes.ts'
import { type ServedEngine, serveEngine } from './served-engine.ts'
import { runHoldfast } from './server-process.ts'

/** Contents by path. A path is Latin-1 text with one character per byte, so it takes every name. */
type Tree = Map<string, string>

interface Made {
  root: string
  blocks: Map<string, Uint8Array>
  tree: Tree
  folders: Uint8Array[]
}

/** Maximum time of a command on a busy machine, in ms. */
const LONGEST_MS = 900_000

/** Bytes of no name: NUL and `/`. */
const NOT_IN_NAMES = [0, 0x2f]
/** Also bytes that a form changes: line breaks, backslashes, and `%`, which may begin `%22`. */
const NOT_IN_FORMS = [...NOT_IN_NAMES, 0x0a, 0x0d, 0x25, 0x5c]

/**
 * Checks that names of random bytes survive every way through a server: CAR, lists, listings, URLs, TAR, `get` and
 * `export`. The server is disposed of.
 */
export async function checkWays(
  dir: string,
  { database, folders, names }: { database?: string; folders: number; names: number },
): Promise<void> {
  const made = await makeTree(folders, names)
  const files = join(dir, 'files')
  mkdirSync(files)
  const more = database === undefined ? {} : { database }
  await using server = await serveEngine(join(dir, 'data'), { importRoots: [files], ...more })
  const blocks = [...made.blocks].map(([cid, bytes]) => ({ cid: CID.parse(cid), bytes }))
  writeFileSync(join(dir, 'in.car'), await carOf([CID.parse(made.root)], blocks))
  expect(await run(server, 'import', join(dir, 'in.car'))).toMatchObject([{ cid: made.root, status: 'pinned' }])

  expect(await listed(server, made.root)).toEqual(cidsOf(made))
  await checkListings(server, made)
  await checkArchive(server, made)
  const out = join(files, 'got')
  expect(await run(server, 'get', made.root, '--out', out)).toMatchObject([{ files: made.tree.size, renamed: 0 }])
  expect(treeOf(filesIn(Buffer.from(out), ''))).toEqual(made.tree)
  await checkImport(server, made, out)
  await checkForm(server, made, out)
  await checkWholeForm(server, await makeTree(folders, names, NOT_IN_FORMS), join(dir, 'carried'))
  await run(server, 'export', made.root, '--out', join(dir, 'out.car'))
  const exported = await CarReader.fromBytes(readFileSync(join(dir, 'out.car')))
  for (const [cid, bytes] of made.blocks) {
    expect(Buffer.compare((await exported.get(CID.parse(cid)))?.bytes ?? Buffer.of(), bytes)).toBe(0)
  }
}

interface Listing {
  entries: { name: string }[]
  next: string | null
}

async function makeTree(folders: number, names: number, without: readonly number[] = NOT_IN_NAMES): Promise<Made> {
  const draw = nameSource(without)
  const blocks: Block[] = []
  const tops: ByteLink[] = []
  const tree: Tree = new Map()
  for (const folder of draw(folders)) {
    const links: ByteLink[] = []
    for (const name of draw(names)) {
      const path = `${latin(folder)}/${latin(name)}`
      const file = await rawBlock(Buffer.from(path, 'latin1'))
      blocks.push(file)
      links.push({ name, cid: file[0] })
      tree.set(path, path)
    }
    blocks.push(...(tops.length % 2 === 0 ? [await byteDirectory(links)] : await byteShards(links)))
    tops.push({ name: folder, cid: rootOf(blocks) })
  }
  blocks.push(...(await byteShards(tops)))
  return {
    root: rootOf(blocks).toString(),
    blocks: new Map(blocks.map(([cid, bytes]) => [cid.toString(), bytes])),
    tree,
    folders: tops.map(({ name }) => name),
  }
}

/** Draws distinct names of 1 to 255 bytes. */
function nameSource(without: readonly number[]): (count: number) => Uint8Array[] {
  const random = pseudoRandom(8_000_000, 'byte names')
  let at = 0
  return count => {
    const found = new Map<string, Uint8Array>()
    while (found.size < count) {
      const length = 1 + ((random[at] ?? 0) % 255)
      const name = Uint8Array.from(random.subarray(at + 1, at + 1 + length), byte =>
        without.includes(byte) ? 0xe9 : byte,
      )
      at += 1 + length
      if (isFileName(textOfBytes(name))) found.set(latin(name), name)
    }
    return [...found.values()]
  }
}

async function checkListings(server: ServedEngine, { root, folders, tree }: Made): Promise<void> {
  const seen: [Uint8Array, string][] = []
  for (const folder of folders) {
    const base = `${server.url}/ipfs/${root}/${uriOfText(textOfBytes(folder))}/`
    const page = await fetch(base, { headers: { accept: 'text/html' } })
    const links = [...(await page.text()).matchAll(/<a href="\.\/([^"?]+)"/g)].map(([, link = '']) => link)
    const listing = (await (await fetch(`${base}?format=json`)).json()) as Listing
    expect([listing.next, new Set(links).size]).toEqual([null, links.length])
    expect(links).toEqual(listing.entries.map(({ name }) => uriOfText(name)))
    for (const { name } of listing.entries) seen.push([bytesOfText(`${textOfBytes(folder)}/${name}`), ''])
    const first = listing.entries[0]?.name ?? ''
    const body = Buffer.from(await (await fetch(base + uriOfText(first))).arrayBuffer())
    expect(body.toString('latin1')).toBe(`${latin(folder)}/${latin(bytesOfText(first))}`)
  }
  expect(new Set(treeOf(seen).keys())).toEqual(new Set(tree.keys()))
}

async function checkArchive(server: ServedEngine, { root, tree }: Made): Promise<void> {
  const { body } = await fetch(`${server.url}/ipfs/${root}?format=tar`)
  const unpacked: [Uint8Array, string][] = []
  for await (const { path, kind, bytes } of readTar(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]))) {
    const content = (await buffer(bytes)).toString('latin1')
    if (kind === 'file') unpacked.push([bytesOfText(path.slice(root.length + 1)), content])
  }
  expect(treeOf(unpacked)).toEqual(tree)
}

/** Imports a folder by its path on the server. */
async function checkImport(server: ServedEngine, made: Made, dirPath: string): Promise<void> {
  const send = await patientFetch()
  const response = await send(`${server.env.HOLDFAST_API}/files/directory`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': server.key },
    body: JSON.stringify({ dirPath }),
  })
  const { cid } = (await response.json()) as { cid: string }
  expect([response.status, await listed(server, cid)]).toEqual([201, cidsOf(made)])
}

/** Uploads a folder as a form, which cannot carry some names. */
async function checkForm(server: ServedEngine, made: Made, folder: string): Promise<void> {
  const { code, stdout } = await runHoldfast(['upload', folder, '--json'], server.env, '', LONGEST_MS)
  const { cid } = JSON.parse(stdout)
  const carried = [...cidsOf(made)].filter(([path]) => !/[\\\r\n]|%22/.test(path))
  expect([code, await listed(server, cid)]).toEqual([carried.length === made.tree.size ? 0 : 3, new Map(carried)])
}

/** Uploads a folder whose names a form can carry. */
async function checkWholeForm(server: ServedEngine, made: Made, folder: string): Promise<void> {
  for (const name of made.folders) mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), name]), { recursive: true })
  for (const [path, content] of made.tree) {
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')]), content, 'latin1')
  }
  const [{ cid }] = await run(server, 'upload', folder)
  expect(await listed(server, cid)).toEqual(cidsOf(made))
}

/** Returns the CIDs of the files of a folder, by path. */
async function listed(server: ServedEngine, cid: string): Promise<Tree> {
  return treeOf((await run(server, 'ls', cid)).map(file => [bytesOfText(file.path), file.cid]))
}

/** Fails if a path occurs twice. */
function treeOf(entries: Iterable<readonly [path: Uint8Array, value: string]>): Tree {
  const tree: Tree = new Map()
  for (const [path, value] of entries) {
    expect(tree.has(latin(path))).toBe(false)
    tree.set(latin(path), value)
  }
  return tree
}

function cidsOf({ blocks, tree }: Made): Tree {
  const cids = new Map([...blocks].map(([cid, bytes]) => [latin(bytes), cid]))
  return new Map([...tree].map(([path, content]) => [path, cids.get(content) ?? '']))
}

function* filesIn(dir: Buffer, above: string): Generator<[Uint8Array, string], void> {
  for (const entry of readdirSync(dir, { withFileTypes: true, encoding: 'buffer' })) {
    const place = Buffer.concat([dir, Buffer.from('/'), entry.name])
    const path = `${above}${latin(entry.name)}`
    if (entry.isDirectory()) yield* filesIn(place, `${path}/`)
    else yield [Buffer.from(path, 'latin1'), readFileSync(place, 'latin1')]
  }
}

async function run(server: ServedEngine, ...args: string[]) {
  const { code, stdout, stderr } = await runHoldfast([...args, '--json'], server.env, '', LONGEST_MS)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

function rootOf(blocks: readonly Block[]): CID {
  const last = blocks.at(-1)
  if (last === undefined) throw new Error('there are no blocks')
  return last[0]
}
