import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import { formatContentPath } from './content-path.ts'
import type { RequestBlocks } from './request-blocks.ts'
import { findInShard } from './shard.ts'
import { decodeNode, type UnixfsNode } from './unixfs-node.ts'

/** What a path leads to. */
export interface Resolved {
  node: UnixfsNode
  /** The CIDs of the root and of each name on the way, the node's own last. */
  roots: readonly CID[]
  /** Where it is once symbolic links are followed. */
  names: readonly string[]
}

/** Symbolic links that one path may pass through. */
const MOST_LINKS = 16

/**
 * Follows names from the root of `blocks`. Symbolic links are followed within that root.
 *
 * @param root how the request calls the root, for messages
 * @throws HoldfastError `NOT_FOUND` if a name is not there, or a link leads out of the root or in circles.
 */
export async function resolve(blocks: RequestBlocks, root: string, names: readonly string[]): Promise<Resolved> {
  let wanted = names
  for (let links = 0; links <= MOST_LINKS; links++) {
    const step = await follow(blocks, wanted)
    if (step === null) throw notFound(root, names, 'has no such entry')
    if (step.node.kind !== 'symlink') return { ...step, node: step.node, names: wanted }
    const target = linkTarget(wanted.slice(0, step.depth), step.node.target)
    if (target === null) throw notFound(root, names, 'is a symbolic link that leads out of the content')
    wanted = [...target, ...wanted.slice(step.depth)]
  }
  throw notFound(root, names, 'leads through too many symbolic links')
}

/** The entry of one name. Null if there is none, or `node` is no directory. */
export async function findEntry(blocks: RequestBlocks, node: UnixfsNode, name: string): Promise<CID | null> {
  if (node.kind === 'shard') return findInShard(blocks, node, name)
  if (node.kind === 'directory') return node.links.find(link => link.name === name)?.cid ?? null
  return null
}

/** Goes as far as the first symbolic link; `depth` is how many names that took. Null if a name is not there. */
async function follow(
  blocks: RequestBlocks,
  names: readonly string[],
): Promise<{ node: UnixfsNode; roots: CID[]; depth: number } | null> {
  let node = decodeNode(blocks.root, await blocks.get(blocks.root))
  const roots = [blocks.root]
  for (const [depth, name] of names.entries()) {
    if (node.kind === 'symlink') return { node, roots, depth }
    const cid = await findEntry(blocks, node, name)
    if (cid === null) return null
    node = decodeNode(cid, await blocks.get(cid))
    roots.push(cid)
  }
  return { node, roots, depth: names.length }
}

/** Where a link at `path` points, as names from the root. Null outside of it. */
function linkTarget(path: readonly string[], target: string): string[] | null {
  if (target.startsWith('/') || path.length === 0) return null
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
