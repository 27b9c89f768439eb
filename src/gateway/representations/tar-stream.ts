import { type DirectoryLink, malformedDagPb } from '../../content/dag/dag-pb.ts'
import { attributesOf } from '../../content/unixfs/attributes.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import { streamFile } from '../../content/unixfs/file-stream.ts'
import type { UnixfsNode } from '../../content/unixfs/node.ts'
import type { Loaded } from '../../content/unixfs/node-cache.ts'
import { shardEntries } from '../../content/unixfs/shard.ts'
import { isFileName, shownText } from '../../domain/byte-text.ts'
import { findEntry } from '../source/resolver.ts'
import { tarEnd, tarHeader, tarPadding } from './tar-header.ts'

type Directory = Extract<UnixfsNode, { kind: 'directory' | 'shard' }>

interface OpenDirectory {
  node: Directory
  name: string
  links: Iterator<DirectoryLink> | AsyncIterator<DirectoryLink>
  bytes: number
}

/** Maximum number of characters of a path in the archive. No file system allows longer paths. */
const LONGEST_PATH = 64 * 1024
/** Maximum number of characters of a name in an error message. */
const LONGEST_SHOWN = 100
/** Maximum number of archive entries whose names start with `../`. Each such entry needs a search in its directory. */
const MOST_RELATIVE = 100

/** Streams a TAR archive whose top entry is `name`. The stream fails at an entry that cannot be unpacked safely. */
export async function* streamTar(
  blocks: BlockReader,
  root: Loaded,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const open: OpenDirectory[] = []
  // Number of entries so far whose names start with `../`.
  let relative = 0
  yield* entry(root, name)
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { done, value: link } = await top.links.next()
    if (done === true) {
      blocks.budget.leave(top.bytes)
      open.pop()
      continue
    }
    const turn = blocks.budget.step()
    if (turn !== null) await turn
    const { directory, name } = placeOf(open, top, link.name)
    const loaded = await blocks.load(link.cid)
    if (directory !== top) {
      if (++relative > MOST_RELATIVE)
        throw malformedDagPb(top.node.cid, 'too many entries have names that start with ../')
      await checkRelative(blocks, directory.node, loaded.node, name)
    }
    yield* entry(loaded, `${directory.name}/${name}`)
  }
  yield tarEnd()

  /** Writes one entry. Adds a directory to `open`, whose content is written next. */
  async function* entry({ node, block }: Loaded, path: string): AsyncGenerator<Uint8Array, void, undefined> {
    if (path.length > LONGEST_PATH) throw malformedDagPb(node.cid, `its path has more than ${LONGEST_PATH} characters`)
    switch (node.kind) {
      case 'file':
        yield tarHeader({ ...attributesOf(node), name: path, type: 'file', size: node.size })
        yield* streamFile(blocks, node, { start: 0, end: node.size })
        yield tarPadding(node.size)
        break
      case 'symlink':
        yield tarHeader({ ...attributesOf(node), name: path, type: 'symlink', size: 0, target: node.target })
        break
      case 'opaque':
        throw malformedDagPb(node.cid, 'it is neither a file nor a directory')
      default:
        yield tarHeader({ ...attributesOf(node), name: `${path}/`, type: 'directory', size: 0 })
        blocks.budget.enter(block.length)
        open.push({ node, name: path, links: linksOf(blocks, node), bytes: block.length })
    }
  }
}

function linksOf(blocks: BlockReader, node: Directory): OpenDirectory['links'] {
  return node.kind === 'shard' ? shardEntries(blocks, node, null) : node.links[Symbol.iterator]()
}

/**
 * Returns the directory of an entry: the innermost open directory, or one level higher for each leading `../`. Throws
 * for any other slash in the name, which could unpack the entry outside the archive's directory.
 */
function placeOf(
  open: readonly OpenDirectory[],
  top: OpenDirectory,
  stored: string,
): { directory: OpenDirectory; name: string } {
  let up = 0
  while (stored.startsWith('../', 3 * up)) up++
  const name = stored.slice(3 * up)
  const directory = open.at(-1 - up)
  if (directory === undefined || !isFileName(name)) {
    const shown = JSON.stringify(shownText(stored.slice(0, LONGEST_SHOWN)))
    throw malformedDagPb(top.node.cid, `its entry ${shown} has a name that cannot be unpacked`)
  }
  return { directory, name }
}

/**
 * Checks that the entry is a file whose name is unused in `directory`. Otherwise a symbolic link could redirect later
 * entries out of the archive's directory.
 */
async function checkRelative(blocks: BlockReader, directory: Directory, node: UnixfsNode, name: string): Promise<void> {
  if (node.kind !== 'file' || (await findEntry(blocks, directory, name)) !== null) {
    throw malformedDagPb(directory.cid, 'an entry whose name starts with ../ is not a new file')
  }
}
