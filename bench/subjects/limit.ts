import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { FileContent } from '../content.ts'
import type { Subject } from '../contest.ts'
import { writeHashed } from '../hashed-file.ts'

/** Writes the bytes to a plain file, hashed and synced. The files stay, as in a store. */
export const limit: Subject<FileContent> = {
  name: 'limit',
  async start(dir) {
    return {
      async run(content) {
        await writeHashed(content.chunks(), join(dir, randomUUID()))
        return {}
      },
      async stop() {},
    }
  },
}
