import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { unpack } from '../../../adapters/cli/unpack.ts'
import { type TarEntry, tarEnd, tarHeader, tarPadding } from '../../../src/gateway/representations/tar-header.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let folder: string

beforeEach(() => {
  directory = temporaryDirectory()
  folder = join(directory.path, 'in', 'site')
})
afterEach(() => directory.remove())

/** Makes the archive of files that all contain `text`, in pieces of a few bytes. */
async function* archive(entries: readonly (string | Pick<TarEntry, 'name' | 'type' | 'target'>)[]) {
  const parts: Uint8Array[] = []
  for (const entry of entries) {
    const given: TarEntry = { type: 'file', size: 4, ...(typeof entry === 'string' ? { name: entry } : entry) }
    if (given.type !== 'file') parts.push(tarHeader({ ...given, size: 0 }))
    else parts.push(tarHeader(given), Buffer.from('text'), tarPadding(4))
  }
  const bytes = Buffer.concat([...parts, tarEnd()])
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
}

async function unpackInto(...entries: Parameters<typeof archive>[0]) {
  mkdirSync(join(folder, '..'), { recursive: true })
  return unpack(folder, archive(entries))
}

test('a folder has the files without the top directory', async () => {
  const long = `${'x'.repeat(90)}/${'y'.repeat(90)}/ü`
  expect(await unpackInto('top/a', `top/${long}`)).toEqual({ files: 2, bytes: 8, links: [] })
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('text')
  expect(readFileSync(join(folder, long), 'utf8')).toBe('text')
})

const HOSTILE = [
  'top/../../escaped',
  'top/a/../../../escaped',
  '../escaped',
  '/top/escaped',
  'top//escaped',
  'top/./escaped',
  'top/..',
  'top/..\\escaped',
]

test('a path that leaves the folder leaves nothing behind', async () => {
  for (const path of HOSTILE) {
    await expect(unpackInto('top/good', path), path).rejects.toMatchObject({ code: 'INVALID_PATH' })
    expect(readdirSync(directory.path), path).toEqual(['in'])
    expect(readdirSync(join(directory.path, 'in')), path).toEqual([])
  }
})

test('a link in the archive is not created, so no later path follows it', async () => {
  const target = directory.path
  const { links, files } = await unpackInto({ name: 'top/link', type: 'symlink', target }, 'top/link/escaped')
  expect({ links, files }).toEqual({ links: ['link'], files: 1 })
  expect(readdirSync(directory.path)).toEqual(['in'])
  expect(readFileSync(join(folder, 'link/escaped'), 'utf8')).toBe('text')
})

test('a link in the way of the folder is refused', async () => {
  mkdirSync(join(directory.path, 'in'))
  symlinkSync(join(directory.path, 'elsewhere'), folder)
  await expect(unpackInto('top/a')).rejects.toMatchObject({ code: 'INVALID_PATH' })
  expect(existsSync(join(directory.path, 'elsewhere'))).toBe(false)
  expect(readdirSync(join(directory.path, 'in'))).toEqual(['site'])
})

test('an empty folder in the way is refused', async () => {
  mkdirSync(folder, { recursive: true })
  await expect(unpackInto('top/a')).rejects.toMatchObject({ code: 'INVALID_PATH' })
  expect(readdirSync(folder)).toEqual([])
})

test('two entries of one name leave nothing behind', async () => {
  await expect(unpackInto('top/a', 'top/a')).rejects.toMatchObject({ code: 'INVALID_PATH' })
  expect(readdirSync(join(directory.path, 'in'))).toEqual([])
})

test('a damaged or short archive leaves nothing behind', async () => {
  mkdirSync(join(directory.path, 'in'))
  const whole = Buffer.concat(await Array.fromAsync(archive(['top/a', 'top/b'])))
  const wrong = Buffer.from(whole)
  wrong[3] = 0x41
  for (const bytes of [whole.subarray(0, 514), whole.subarray(0, 1024), wrong]) {
    const pieces = (async function* () {
      yield bytes
    })()
    await expect(unpack(folder, pieces)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(readdirSync(join(directory.path, 'in'))).toEqual([])
  }
})
