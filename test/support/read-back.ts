import { exporter, type ReadableStorage } from 'ipfs-unixfs-exporter'
import { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import { linksOf } from '../../src/content/dag/links.ts'
import type { Engine } from '../../src/index.ts'
import { sha256Hex } from './bytes.ts'

export type Readable = BlockSource | Pick<ClusterBackend, 'reader'>

function readerOf(source: Readable): BlockSource {
  if ('read' in source) return source
  if (source.reader === null) throw new Error('the backend cannot be read')
  return source.reader
}

/** Adapts a source of blocks to the block store that libraries expect. Each block is checked by its hash. */
function storageOf(source: Readable): ReadableStorage {
  return {
    get: async function* (cid: CID) {
      yield await readerOf(source).read(cid)
    },
  } as ReadableStorage
}

export async function readFile(source: Readable, cid: string): Promise<Buffer> {
  const node = await exporter(CID.parse(cid), storageOf(source))
  if (node.type !== 'file' && node.type !== 'raw') throw new Error(`${cid} is a ${node.type}`)
  const parts: Uint8Array[] = []
  for await (const part of node.content({ blockReadConcurrency: 4 })) parts.push(part)
  return Buffer.concat(parts)
}

/** Returns what is below a directory by path: the SHA-256 of a file, `dir`, or `-> target` of a symbolic link. */
export async function readTree(source: Readable, cid: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  const visit = async (at: CID, path: string): Promise<void> => {
    const node = await exporter(at, storageOf(source))
    if (node.type === 'directory') {
      if (path !== '') tree[path] = 'dir'
      for await (const entry of node.entries()) {
        await visit(entry.cid, path === '' ? entry.name : `${path}/${entry.name}`)
      }
    } else if (node.type === 'file' && node.unixfs.type === 'symlink') {
      tree[path] = `-> ${Buffer.from(node.unixfs.data ?? []).toString()}`
    } else {
      tree[path] = sha256Hex(await readFile(source, at.toString()))
    }
  }
  await visit(CID.parse(cid), '')
  return tree
}

/**
 * Reads every block of a DAG, checked by its hash. Returns the sizes of the distinct blocks by multihash, and their
 * sums.
 */
export async function dagBytes(
  source: Readable,
  cid: string,
): Promise<{ bytes: number; charge: number; blocks: Map<string, number> }> {
  const blocks = new Map<string, number>()
  const visit = async (at: CID): Promise<void> => {
    const key = Buffer.from(at.multihash.bytes).toString('hex')
    if (blocks.has(key)) return
    const block = await readerOf(source).read(at)
    blocks.set(key, block.length)
    for (const link of linksOf(at, block)) await visit(link)
  }
  await visit(CID.parse(cid))
  const sizes = [...blocks.entries()]
  return {
    bytes: sizes.reduce((sum, [, size]) => sum + size, 0),
    // An identity CID contains its block, so it takes no space on disk.
    charge: sizes.reduce((sum, [key, size]) => sum + (key.startsWith('00') ? 0 : Math.max(size, 512)), 0),
    blocks,
  }
}

export interface GatewayAnswer {
  status: number
  bytes: Buffer
}

export async function viaGateway(engine: Engine, path: string): Promise<GatewayAnswer> {
  const { status, body } = await engine.gateway({
    method: 'GET',
    path,
    query: '',
    header: () => undefined,
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  if (body === null) return { status, bytes: Buffer.alloc(0) }
  if (typeof body === 'string') return { status, bytes: Buffer.from(body) }
  if (body instanceof Uint8Array) return { status, bytes: Buffer.from(body) }
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return { status, bytes: Buffer.concat(parts) }
}

/** Reads a block from the default cluster, checked by its hash. */
export async function readBlock({ clusters }: Pick<Engine, 'clusters'>, cid: CID): Promise<Uint8Array> {
  return readerOf(await clusters.backendOf()).read(cid)
}
