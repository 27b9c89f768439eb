import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContent } from '../content.ts'
import type { Subject } from '../contest.ts'
import { writeHashed } from '../hashed-file.ts'

/** The same bytes to one plain file, hashed and synced. */
export const limit: Subject<FileContent> = {
  name: 'limit',
  async start(dir) {
    let file = ''
    return {
      async run(content) {
        file = join(dir, randomUUID())
        await writeHashed(content.chunks(), file)
        return {}
      },
      tidy: () => rm(file),
      async stop() {},
    }
  },
}
