import { join } from 'node:path'
import { NextToLast } from 'blockstore-fs/sharding'
import type { CID } from 'multiformats/cid'

const layout = new NextToLast()

/** Returns the path relative to `blocks/`, in the layout of blockstore-fs. */
export function blockFileOf(cid: CID): string {
  const { dir, file } = layout.encode(cid)
  return join(dir, file)
}
