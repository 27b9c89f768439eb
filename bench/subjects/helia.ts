import { join } from 'node:path'
import { type UnixFS, unixfs } from '@helia/unixfs'
import { FsBlockstore } from 'blockstore-fs'
import { LevelDatastore } from 'datastore-level'
import { createHeliaLight } from 'helia'
import type { CID } from 'multiformats/cid'
import type { FileContent, TreeContent } from '../content.ts'
import type { RunningSubject, Subject, Work } from '../contest.ts'

/** Plain Helia on files and LevelDB, without a network, with its defaults. */
export const heliaUpload: Subject<FileContent> = {
  name: 'helia',
  start: dir => startHelia(dir, (fs, content) => fs.addByteStream(content.chunks())),
}

export const heliaDag: Subject<TreeContent> = {
  name: 'helia',
  start: dir =>
    startHelia(dir, async (fs, tree) => {
      const candidates = tree.files.map(({ path, bytes }) => ({ path, content: bytes }))
      let root: CID | undefined
      // The root comes last.
      for await (const { cid } of fs.addAll(candidates, { wrapWithDirectory: true })) root = cid
      if (root === undefined) throw new Error('nothing was added')
      return root
    }),
}

async function startHelia<W extends Work>(
  dir: string,
  add: (fs: UnixFS, work: W) => Promise<CID>,
): Promise<RunningSubject<W>> {
  const blockstore = new FsBlockstore(join(dir, 'blocks'))
  const datastore = new LevelDatastore(join(dir, 'datastore'))
  await blockstore.open()
  await datastore.open()
  const helia = createHeliaLight({ blockstore, datastore })
  await helia.start()
  const fs = unixfs(helia)
  return {
    async run(work) {
      const root = await add(fs, work)
      // Helia pins while its progress is read.
      for await (const _pinned of helia.pins.add(root));
      return { cid: root.toString() }
    },
    async stop() {
      await helia.stop()
      await blockstore.close()
      await datastore.close()
    },
  }
}
