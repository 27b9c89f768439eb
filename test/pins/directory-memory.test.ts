import { expect, test } from 'vitest'
import { directoryMemory } from '../../src/content/unixfs/held-memory.ts'
import { DirectoryForm } from '../../src/contract/uploads/directory-form.ts'
import type { DirectoryEntry } from '../../src/index.ts'
import { withEngine } from '../support/test-engine.ts'

/** A form of paths without contents, and then of contents whose paths are missing. */
function formOf(paths: number, contents: number): DirectoryForm {
  const part = (name: string): string => `--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${name}\r\n`
  const named = Array.from({ length: paths }, (_, index) => part(`files[${index}][path]`))
  const rest = Array.from({ length: contents }, (_, index) => part(`files[${paths + index}][content]`))
  const body = async function* () {
    yield Buffer.from([...named, ...rest, '--B--\r\n'].join(''))
  }
  return new DirectoryForm({ body: body(), header: () => 'multipart/form-data; boundary=B' })
}

test('a directory holds memory for its names until its upload ends', async () => {
  await withEngine(async ({ engine, account }) => {
    const seen: number[] = []
    async function* entries(end: 'ends' | 'fails'): AsyncGenerator<DirectoryEntry> {
      yield { kind: 'file', path: 'a/first', content: Buffer.from('1') }
      yield { kind: 'file', path: 'a/second', content: Buffer.from('2') }
      seen.push(directoryMemory.held)
      if (end === 'fails') throw new Error('the source broke off')
    }
    await engine.pins.uploadDirectory(entries('ends'), { account })
    expect(directoryMemory.held).toBe(0)
    await expect(engine.pins.uploadDirectory(entries('fails'), { account })).rejects.toThrow('the source broke off')
    expect(directoryMemory.held).toBe(0)
    expect(seen[0]).toBeGreaterThan(2 * 'second'.length)
    expect(seen[1]).toBe(seen[0])
  })
})

test('a form holds memory for paths and contents until it ends', async () => {
  let held = 0
  const read = async (form: DirectoryForm): Promise<void> => {
    for await (const _ of form.entries()) held = Math.max(held, directoryMemory.held)
  }
  await expect(read(formOf(100, 1))).rejects.toThrow('files[0][content] is missing')
  const paths = held
  expect(paths).toBeGreaterThan(100 * 'files[0][path]'.length)
  await expect(read(formOf(100, 100))).rejects.toThrow('files[0][content] is missing')
  expect(held).toBeGreaterThan(paths)
  expect(directoryMemory.held).toBe(0)
})
