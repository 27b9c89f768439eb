import type { CID } from 'multiformats/cid'
import { type Found, findLink } from '../../content/dag/document.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { UnixfsNode } from '../../content/unixfs/node.ts'
import { findInShard } from '../../content/unixfs/shard.ts'
import { bytesOfText, hasMarks } from '../../domain/byte-text.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from './request-blocks.ts'

export interface Given {
  /** Names of the path as the DAG stores them, before symbolic links have been followed. */
  given: readonly string[]
}

export interface Resolved {
  node: UnixfsNode
  block: Uint8Array
  /** CIDs of the root and of each name on the path. The last is the CID of the node. */
  roots: readonly CID[]
  /** Names of the path, after symbolic links have been followed. */
  names: readonly string[]
  /** CIDs of all blocks read during the resolution, in order. The last is the CID of the node. */
  trail: readonly CID[]
}

interface Followed {
  node: UnixfsNode
  block: Uint8Array
  roots: CID[]
  /** Number of followed names. */
  depth: number
}

const MOST_LINKS = 16
/** Maximum number of characters in a symbolic link's target, as in file systems. */
const LONGEST_TARGET = 4096
/** Number of links that a search compares before it may yield to the event loop. */
const LINKS_PER_TURN = 4096

/**
 * Resolves a path below the root of `blocks`. Follows a symbolic link at the end of the path only if `followLast` is
 * true.
 *
 * @param root text of the requested root, for error messages
 * @throws HoldfastError `NOT_FOUND` if a name is missing, or a link leaves the root or loops
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
    if (target === null)
      throw notFound(root, names, 'is a symbolic link with an invalid target, outside the content or too long')
    wanted = [...target, ...wanted.slice(step.depth)]
  }
  throw notFound(root, names, 'leads through too many symbolic links')
}

/**
 * Resolves a path like {@link resolve}. Tries the NFC and the NFD form of a missing path: macOS uploads NFD, and people
 * type NFC.
 */
export async function resolveForms(
  blocks: RequestBlocks,
  root: string,
  names: readonly string[],
): Promise<Resolved & Given> {
  try {
    return { ...(await resolve(blocks, root, names, true)), given: names }
  } catch (error) {
    if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    for (const form of ['NFC', 'NFD']) {
      const given = names.map(name => name.normalize(form))
      if (given.every((name, index) => name === names[index])) continue
      const resolved = await resolve(blocks, root, given, true).catch(otherThanMissing)
      if (resolved !== null) return { ...resolved, given }
    }
    throw error
  }
}

/** Returns null for the error of a missing path. */
function otherThanMissing(error: unknown): null {
  if (isHoldfastError(error, 'NOT_FOUND')) return null
  throw error
}

/** Returns the CID of an entry, or null if the entry is missing or `node` is not a directory. */
export async function findEntry(blocks: BlockReader, node: UnixfsNode, name: string): Promise<CID | null> {
  if (node.kind === 'shard') return findInShard(blocks, node, name)
  if (node.kind !== 'directory') return null
  const { links } = node
  const bytes = hasMarks(name) ? bytesOfText(name) : Buffer.from(name)
  for (let index = 0; index < links.length; index++) {
    const turn = index % LINKS_PER_TURN === 0 ? blocks.budget.turn() : null
    if (turn !== null) await turn
    if (Buffer.compare(bytes, links.nameBytes(index)) === 0) return links.cid(index)
  }
  return null
}

/** Follows names up to the first symbolic link. Returns null if a name is missing. */
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

/** Returns the target as names below the root, or null if the target is outside the root or too long. */
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
