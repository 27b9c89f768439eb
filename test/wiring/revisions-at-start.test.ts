import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/domain/logger.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { makeTakedowns } from '../../src/wiring/takedowns-module.ts'
import { withContentParts } from '../support/content-parts.ts'
import { temporaryDirectory } from '../support/server-process.ts'

test('a node that starts releases former holds before it confirms a change', () =>
  withContentParts(async ({ database, blocks, clock }) => {
    const calls: string[] = []
    const shared = {
      takedowns: { all: async () => [] },
      revisions: {
        newest: async () => 7,
        confirm: async (number: number) => void calls.push(`confirmed ${number}`),
        unconfirmed: async () => [],
      },
      changes: { revisions: () => undefined },
      past: { confirm: () => undefined },
    }
    const directory = temporaryDirectory()
    await mkdir(join(directory.path, 'tmp'))
    const setup = { dataDir: directory.path, config: { node: { id: 'a' } }, clock, logger: silentLogger }
    const work = { dropReleased: async () => void calls.push('released') }
    const storage = { database, blocks, writes: new WriteQueue(database), shared, work }
    const module = makeTakedowns(setup as never, { storage, clusters: { live: {}, registry: {} } } as never)
    try {
      await module.start()
      expect(calls).toEqual(['released', 'confirmed 7'])
    } finally {
      await module.stop()
      directory.remove()
    }
  }))
