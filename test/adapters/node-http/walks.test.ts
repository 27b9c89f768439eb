import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')

/** Returns the files that V8 counts as passed, by the name of a walk. */
async function walksOf(script: string): Promise<Record<string, string[]>> {
  const path = join(ROOT, 'test/support', script)
  const { stdout } = await promisify(execFile)(process.execPath, [path], { timeout: 120_000 })
  return JSON.parse(stdout) as Record<string, string[]>
}

/** Files that only a wait for a turn passes, which a slow machine may need for each chunk. */
const ONLY_WAITS = new Set(['src/concurrency/capacity/share-queue.ts', 'src/concurrency/work.ts'])

/** Files that every chunk of a request passes. */
const chunks = walksOf('crossed-files.ts')
/** Files with any function called in a whole warm request. */
const requests = walksOf('request-walks.ts')

/** Returns the files in a section of the architecture document. */
function named(heading: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const section = text.split(/^#{2,3} /m).find(part => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/`((?:src|adapters)\/[a-z0-9/-]+\.ts)`/g)].map(([, file]) => file ?? '').sort()
}

describe('how many files stand in the way of a chunk', () => {
  test('from the socket to the disk: no more than documented', async () => {
    const { upload = [] } = await chunks
    expect(upload.filter(file => !ONLY_WAITS.has(file))).toEqual(named('A byte from the socket to the disk'))
    // The turns are one of them, so that a crowd's bodies do not hold up other requests. The tree of a file is a file of its own.
    // The key of a block is a file, which all maps of blocks share.
    // Three tell whether a backup runs, in which the quota also counts what other uploads have written.
    expect(named('A byte from the socket to the disk').length).toBeLessThanOrEqual(24)
  })

  test('from a CID at the gateway back: no more than documented', async () => {
    const { read = [] } = await chunks
    expect(read.filter(file => !ONLY_WAITS.has(file))).toEqual(named('A CID from the gateway back'))
    // The budget of memory is two of them, the memory of blocks one, the reservation of traffic two, and the newest
    // revision one. The content of a pin has a file of its own. Two tell whether the root needs the block.
    expect(named('A CID from the gateway back').length).toBeLessThanOrEqual(28)
  })
})

// If a request waits for its turn, the queue of turns (`src/concurrency/capacity/share-queue.ts`) is one of the files.
// Two of the files load what the handler needs at its first request, and one counts open answers. A removal compares what
// undo periods keep with the quota, in four files. A stop of deletion, the features that follow records and the attributes
// of files add four to an upload, the hold of the collector one. A pin asks in three files which stored blocks its account may use. The runner of webhooks is woken in a file that all such work shares.
// A read compares the newest revision, and has the content of a pin in a file of its own.
// A change that makes a walk longer explains it and raises the bound. One that makes it shorter lowers the bound.
describe('how many files a whole request passes', () => {
  test.each([
    ['upload', 103],
    ['read', 56],
    ['pin', 87],
    ['remove', 65],
    ['list', 57],
  ])('%s: at most %i', async (name, most) => {
    const files = (await requests)[name] ?? []
    expect(files.length, files.join('\n')).toBeGreaterThan(30)
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(most)
  })
})
