import type { CID } from 'multiformats/cid'
import { type Found, findLink } from '../../content/dag/document.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { UnixfsNode } from '../../content/unixfs/node.ts'
import { findInShard } from '../../content/unixfs/shard.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from './request-blocks.ts'

/** What a path leads to. */
export interface Resolved {
  node: UnixfsNode
  /** The node's block. */
  block: Uint8Array
  /** The CIDs of the root and of each name on the way, the node's own last. */
  roots: readonly CID[]
  /** Where it is once symbolic links are followed. */
  names: readonly string[]
  /** Every block that was read to get there, in order, the node's own last. */
  trail: readonly CID[]
}

interface Followed {
  node: UnixfsNode
  block: Uint8Array
  roots: CID[]
  /** How many of the names were followed. */
  depth: number
}

/** Symbolic links that one path may pass through. */
const MOST_LINKS = 16
/** Characters of where one of them leads, as on file systems. */
const LONGEST_TARGET = 4096

/**
 * Follows names from the root of `blocks`. Symbolic links are followed within that root; the last only if
 * `followLast` is true.
 *
 * @param root how the request calls the root, for messages
 * @throws HoldfastError `NOT_FOUND` if a name is not there, or a link leads out of the root or in circles.
 */
export async function resolve(
  blocks: RequestBlocks,
  root: string,
  names: readonly string[],
  followLast: boolean,
): Promise<Resolved> {
  const trail: CID[] = []
  const traced: BlockReader = {
    spareReads: blocks.spareReads,
    budget: blocks.budget,
    get: cid => {
      trail.push(cid)
      return blocks.get(cid)
    },
    load: cid => {
      trail.push(cid)
      return blocks.load(cid)
    },
  }
  let wanted = names
  for (let links = 0; links <= MOST_LINKS; links++) {
    const step = await follow(blocks.root, traced, wanted)
    if (step === null) throw notFound(root, names, 'has no such entry')
    const isEnd = step.depth === wanted.length
    if (step.node.kind !== 'symlink' || (isEnd && !followLast)) return { ...step, names: wanted, trail }
    const target = linkTarget(wanted.slice(0, step.depth), step.node.target)
    if (target === null) throw notFound(root, names, 'is a symbolic link that leads out of the content, or too far')
    wanted = [...target, ...wanted.slice(step.depth)]
  }
  throw notFound(root, names, 'leads through too many symbolic links')
}

/** The entry of one name. Null if there is none, or `node` is no directory. */
export async function findEntry(blocks: BlockReader, node: UnixfsNode, name: string): Promise<CID | null> {
  if (node.kind === 'shard') return findInShard(blocks, node, name)
  if (node.kind !== 'directory') return null
  const { links } = node
  const bytes = Buffer.from(name)
  for (let index = 0; index < links.length; index++) {
    if (bytes.equals(links.nameBytes(index))) return links.cid(index)
  }
  return null
}

/** Goes as far as the first symbolic link. Null if a name is not there. */
async function follow(root: CID, blocks: BlockReader, names: readonly string[]): Promise<Followed | null> {
  let { block, node } = await blocks.load(root)
  const roots = [root]
  for (let depth = 0; depth < names.length; ) {
    if (node.kind === 'symlink') return { node, block, roots, depth }
    const rest = names.slice(depth)
    const found = node.kind === 'opaque' ? await findLink(node, rest, blocks.budget) : await findOne(blocks, node, rest)
    if (found === null) return null
    const turn = blocks.budget.step()
    if (turn !== null) await turn
    ;({ block, node } = await blocks.load(found.cid))
    roots.push(found.cid)
    depth += found.taken
  }
  return { node, block, roots, depth: names.length }
}

async function findOne(blocks: BlockReader, node: UnixfsNode, [name = '']: readonly string[]): Promise<Found | null> {
  const cid = await findEntry(blocks, node, name)
  return cid === null ? null : { cid, taken: 1 }
}

/** Where a link at `path` points, as names from the root. Null outside of it. */
function linkTarget(path: readonly string[], target: string): string[] | null {
  if (target.startsWith('/') || path.length === 0 || target.length > LONGEST_TARGET) return null
  const names = path.slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return null
  }
  return names
}

function notFound(root: string, names: readonly string[], reason: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `${formatContentPath(root, names)} ${reason}`)
}
