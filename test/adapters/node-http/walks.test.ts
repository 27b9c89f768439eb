import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const SCRIPT = join(ROOT, 'test/support/crossed-files.ts')

/** The files that every chunk of a request passes, as V8 counts calls. */
const walks = promisify(execFile)(process.execPath, [SCRIPT], { timeout: 25_000 }).then(
  ({ stdout }) => JSON.parse(stdout) as Record<'upload' | 'read', string[]>,
)

/** The files that a section of the document on the architecture names. */
function named(heading: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const section = text.split(/^#{2,3} /m).find(part => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/`((?:src|adapters)\/[a-z0-9/-]+\.ts)`/g)].map(([, file]) => file ?? '').sort()
}

describe('how many files stand in the way of a chunk', () => {
  test('from the socket to the disk: no more than are told of', async () => {
    const { upload } = await walks
    expect(upload).toEqual(named('A byte from the socket to the disk'))
    expect(upload.length).toBeLessThanOrEqual(18)
  })

  test('from a CID at the gateway back: no more than are told of', async () => {
    const { read } = await walks
    expect(read).toEqual(named('A CID from the gateway back'))
    expect(read.length).toBeLessThanOrEqual(19)
  })
})
