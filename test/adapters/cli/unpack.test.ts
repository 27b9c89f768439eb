import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createNamed } from '../../../adapters/cli/local-name.ts'
import { unpack } from '../../../adapters/cli/unpack.ts'
import { type TarEntry, tarEnd, tarHeader, tarPadding } from '../../../src/gateway/representations/tar-header.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

const unpackUrl = new URL('../../../adapters/cli/unpack.ts', import.meta.url).href

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
  expect(await unpackInto('top/a', `top/${long}`)).toEqual({ files: 2, bytes: 8, skippedLinks: 0, renamed: 0 })
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
]

test('a path that leaves the folder leaves nothing behind', async () => {
  for (const path of HOSTILE) {
    await expect(unpackInto('top/good', path), path).rejects.toMatchObject({ code: 'INVALID_PATH' })
    expect(readdirSync(directory.path), path).toEqual(['in'])
    expect(readdirSync(join(directory.path, 'in')), path).toEqual([])
  }
})

test('creates no link of the archive for a later path', async () => {
  const target = directory.path
  const done = await unpackInto({ name: 'top/link', type: 'symlink', target }, 'top/link/escaped')
  expect(done).toMatchObject({ skippedLinks: 1, files: 1 })
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

test('names are the bytes of the archive', async () => {
  await unpackInto('top/caf\uefe9', 'top/caf\uefe8', 'top/d\uefff/..\\x')
  const namesIn = (path: string | Buffer): string[] =>
    readdirSync(path, { encoding: 'buffer' }).map(name => name.toString('latin1'))
  expect(namesIn(folder).toSorted()).toEqual(['caf\xe8', 'caf\xe9', 'd\xff'])
  expect(namesIn(Buffer.concat([Buffer.from(`${folder}/d`), Buffer.of(0xff)]))).toEqual(['..\\x'])
})

test('a name that the file system refuses is percent-encoded', async () => {
  const tried: string[] = []
  const refuse = (code: string) => async (path: string) => {
    tried.push(path)
    if (tried.length === 1) throw Object.assign(new Error(code), { code })
    return 'made'
  }
  expect(await createNamed('in/d', 'a:b*\uefe9.', refuse('EILSEQ'))).toEqual({
    made: 'made',
    path: 'in/d/a%3Ab%2A%E9%2E',
    isRenamed: true,
  })
  expect(tried).toEqual(['in/d/a:b*\uefe9.', 'in/d/a%3Ab%2A%E9%2E'])
  tried.length = 0
  await expect(createNamed('in', 'a', refuse('EEXIST'))).rejects.toThrow('EEXIST')
})

test('two entries of one name leave nothing behind', async () => {
  await expect(unpackInto('top/a', 'top/a')).rejects.toMatchObject({ code: 'INVALID_PATH' })
  expect(readdirSync(join(directory.path, 'in'))).toEqual([])
})

/** Changes bytes of a header, and its checksum. */
function changed(header: Uint8Array, at: number, text: string): Buffer {
  const bytes = Buffer.from(header)
  bytes.write(text, at, 'latin1')
  bytes.write('        ', 148, 'latin1')
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return bytes
}

async function* piecesOf(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
}

/** Makes an extended header with this text, and its entry. */
function extended(text: string): Buffer {
  const header = changed(tarHeader({ name: 'x', type: 'file', size: text.length }), 156, 'x')
  const entry = tarHeader({ name: 'top/a', type: 'file', size: 0 })
  return Buffer.concat([header, Buffer.from(text), tarPadding(text.length), entry, tarEnd()])
}

const file = tarHeader({ name: 'top/a', type: 'file', size: 4 })

test('a damaged, short or unknown archive leaves nothing behind', async () => {
  mkdirSync(join(directory.path, 'in'))
  const whole = await buffer(archive(['top/a', 'top/b']))
  const wrong = Buffer.from(whole)
  wrong[3] = 0x41
  const archives = {
    'short header': whole.subarray(0, 514),
    'short file': whole.subarray(0, 1024 - 510),
    'no end': whole.subarray(0, 1024),
    'wrong checksum': wrong,
    'hard link': changed(file, 156, '1'),
    device: changed(file, 156, '3'),
    pipe: changed(file, 156, '6'),
    'global header': changed(file, 156, 'g'),
    'no size': changed(file, 124, '-1\0'),
    'binary size': changed(file, 124, '\x80\0\0\0'),
    'huge size': changed(file, 124, '77777777777\0'),
    'long header': changed(changed(file, 156, 'x'), 124, '77777777777\0'),
    'huge extended size': extended('24 size=9999999999999999\n'),
    'record without end': extended('99 path=a\n'),
    'record without length': extended('path=a\n'),
    'empty record': extended('1 '),
  }
  for (const [name, bytes] of Object.entries(archives)) {
    await expect(unpack(folder, piecesOf(bytes)), name).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(readdirSync(join(directory.path, 'in')), name).toEqual([])
  }
})

test('a path that no disk can hold leaves nothing behind', async () => {
  mkdirSync(join(directory.path, 'in'))
  for (const name of ['top/a\0b', `top/${'d/'.repeat(100_000)}f`, `top/${'n'.repeat(300)}`]) {
    await expect(unpack(folder, piecesOf(tarHeader({ name, type: 'file', size: 0 })))).rejects.toMatchObject({
      code: 'INVALID_PATH',
    })
    expect(readdirSync(join(directory.path, 'in'))).toEqual([])
  }
})

test('a header with a long number is refused in linear time', async () => {
  mkdirSync(join(directory.path, 'in'))
  const started = performance.now()
  await expect(unpack(folder, piecesOf(extended('0'.repeat(200_000))))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('a size of a directory or link counts no bytes', async () => {
  mkdirSync(join(directory.path, 'in'))
  const [inside, link] = ['5', '2'].map(type => changed(file, 156, type))
  const bytes = Buffer.concat([...[inside, link].filter(part => part !== undefined), tarEnd()])
  expect(await unpack(folder, piecesOf(bytes))).toEqual({ files: 0, bytes: 0, skippedLinks: 1, renamed: 0 })
})

test('an archive of another program is unpacked', async () => {
  mkdirSync(join(directory.path, 'in'))
  const packed = pack()
  const long = `${'ö'.repeat(90)}/`.repeat(3)
  packed.entry({ name: `top/${long}`, type: 'directory' })
  packed.entry({ name: `top/${long}a`, mtime: new Date(0.5) }, 'text')
  packed.finalize()
  expect(await unpack(folder, packed as AsyncIterable<Uint8Array>)).toEqual({
    files: 1,
    bytes: 4,
    skippedLinks: 0,
    renamed: 0,
  })
  expect(readFileSync(join(folder, long, 'a'), 'utf8')).toBe('text')
})

test('keeps mode and time, never setuid, setgid or sticky', async () => {
  mkdirSync(join(directory.path, 'in'))
  const mtime = Date.UTC(2021, 4, 6)
  const bytes = Buffer.concat([
    changed(tarHeader({ name: 'top/', type: 'directory', size: 0, mtime }), 100, '0007555\0'),
    tarHeader({ name: 'top/sub/', type: 'directory', size: 0, mode: 0o500, mtime }),
    changed(tarHeader({ name: 'top/sub/a', type: 'file', size: 0, mtime }), 100, '0006700\0'),
    tarEnd(),
  ])
  await unpack(folder, piecesOf(bytes))
  const found = ['', 'sub', 'sub/a'].map(path => statSync(join(folder, path)))
  const rest = ~process.umask()
  expect(found.map(({ mode }) => mode & 0o7777)).toEqual([0o555 & rest, 0o500 & rest, 0o700 & rest])
  expect(found.map(({ mtimeMs }) => mtimeMs)).toEqual([mtime, mtime, mtime])
})

const UMASKS = [
  { title: '022', umask: 0o022, directories: 0o755, files: 0o644 },
  { title: '027', umask: 0o027, directories: 0o750, files: 0o640 },
  { title: '077', umask: 0o077, directories: 0o700, files: 0o600 },
]

test.each(UMASKS)('a folder and its files have the umask $title', async given => {
  // Only another process can have another umask.
  const script = `
    process.umask(${given.umask})
    const { unpack } = await import(${JSON.stringify(unpackUrl)})
    const { readFileSync } = await import('node:fs')
    await unpack(${JSON.stringify(folder)}, (async function* () { yield readFileSync(0) })())`
  mkdirSync(join(folder, '..'))
  const input = await buffer(archive(['top/sub/a']))
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], { input })
  const modes = ['', 'sub', 'sub/a'].map(path => statSync(join(folder, path)).mode & 0o777)
  expect(modes).toEqual([given.directories, given.directories, given.files])
  expect(readdirSync(join(directory.path, 'in'))).toEqual(['site'])
})
