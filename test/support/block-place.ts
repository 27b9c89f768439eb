import { join } from 'node:path'
import { NextToLast } from 'blockstore-fs/sharding'
import type { CID } from 'multiformats/cid'

const layout = new NextToLast()

/** Where the layout of blockstore-fs puts a block, relative to `blocks/`. */
export function blockFileOf(cid: CID): string {
  const { dir, file } = layout.encode(cid)
  return join(dir, file)
}
