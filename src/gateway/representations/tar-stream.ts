import type { CID } from 'multiformats/cid'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import { streamFile } from '../../content/unixfs/file-stream.ts'
import { type DirectoryLink, malformed, type UnixfsNode } from '../../content/unixfs/node.ts'
import type { Loaded } from '../../content/unixfs/node-cache.ts'
import { shardEntries } from '../../content/unixfs/shard.ts'
import { tarEnd, tarHeader, tarPadding } from './tar-header.ts'

type Directory = Extract<UnixfsNode, { kind: 'directory' | 'shard' }>

/** A directory that is being gone through. */
interface OpenDirectory {
  cid: CID
  /** Its path in the archive. */
  name: string
  links: Iterator<DirectoryLink> | AsyncIterator<DirectoryLink>
  bytes: number
}

/** Longer than any file system takes; each entry costs as much as its path is long. */
const LONGEST_PATH = 64 * 1024

/**
 * A file or directory, with everything below it, as a TAR archive whose one top entry is called `name`. Symbolic
 * links are stored as such. An entry that an archive cannot hold safely ends it with an error.
 */
export async function* streamTar(
  blocks: BlockReader,
  root: Loaded,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const open: OpenDirectory[] = []
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
    checkName(top.cid, link.name)
    yield* entry(await blocks.load(link.cid), `${top.name}/${link.name}`)
  }
  yield tarEnd()

  /** What stands for one entry; a directory is opened. */
  async function* entry({ node, block }: Loaded, path: string): AsyncGenerator<Uint8Array, void, undefined> {
    if (path.length > LONGEST_PATH) throw malformed(node.cid, `its path has more than ${LONGEST_PATH} characters`)
    switch (node.kind) {
      case 'file':
        yield tarHeader({ name: path, type: 'file', size: node.size })
        yield* streamFile(blocks, node, { start: 0, end: node.size })
        yield tarPadding(node.size)
        break
      case 'symlink':
        yield tarHeader({ name: path, type: 'symlink', size: 0, target: node.target })
        break
      case 'opaque':
        throw malformed(node.cid, 'it is neither file nor directory')
      default:
        yield tarHeader({ name: `${path}/`, type: 'directory', size: 0 })
        blocks.budget.enter(block.length)
        open.push({ cid: node.cid, name: path, links: linksOf(blocks, node), bytes: block.length })
    }
  }
}

function linksOf(blocks: BlockReader, node: Directory): OpenDirectory['links'] {
  return node.kind === 'shard' ? shardEntries(blocks, node, null) : node.links[Symbol.iterator]()
}

/** A name that would lead elsewhere when the archive is unpacked is nobody's mistake. */
function checkName(directory: CID, name: string): void {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw malformed(directory, 'an entry has a name that cannot be unpacked')
  }
}
