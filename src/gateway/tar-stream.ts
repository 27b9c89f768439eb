import type { CID } from 'multiformats/cid'
import { streamFile } from './file-stream.ts'
import type { BlockReader } from './request-blocks.ts'
import { shardEntries } from './shard.ts'
import { tarEnd, tarHeader, tarPadding } from './tar-header.ts'
import { type DirectoryLink, decodeNode, malformed, type UnixfsNode } from './unixfs-node.ts'

type Directory = Extract<UnixfsNode, { kind: 'directory' | 'shard' }>

/**
 * A file or directory, with everything below it, as a TAR archive whose one top entry is called `name`. Symbolic
 * links are stored as such. An entry that an archive cannot hold safely ends it with an error.
 */
export async function* streamTar(
  blocks: BlockReader,
  root: UnixfsNode,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* streamEntry(blocks, root, name)
  yield tarEnd()
}

async function* streamEntry(
  blocks: BlockReader,
  node: UnixfsNode,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  switch (node.kind) {
    case 'file':
      yield tarHeader({ name, type: 'file', size: node.size })
      yield* streamFile(blocks, node, { start: 0, end: node.size })
      yield tarPadding(node.size)
      break
    case 'symlink':
      yield tarHeader({ name, type: 'symlink', size: 0, target: node.target })
      break
    case 'opaque':
      throw malformed(node.cid, 'it is neither file nor directory')
    default:
      yield tarHeader({ name: `${name}/`, type: 'directory', size: 0 })
      for await (const link of linksOf(blocks, node)) {
        checkName(node.cid, link.name)
        yield* streamEntry(blocks, decodeNode(link.cid, await blocks.get(link.cid)), `${name}/${link.name}`)
      }
  }
}

async function* linksOf(blocks: BlockReader, node: Directory): AsyncGenerator<DirectoryLink> {
  if (node.kind === 'shard') yield* shardEntries(blocks, node, null)
  else yield* node.links
}

/** A name that would lead elsewhere when the archive is unpacked is nobody's mistake. */
function checkName(directory: CID, name: string): void {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw malformed(directory, 'an entry has a name that cannot be unpacked')
  }
}
