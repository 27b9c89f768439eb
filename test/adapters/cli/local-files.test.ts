import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileSource, type LocalContent, readLocalContent } from '../../../adapters/cli/local-files.ts'
import { collect } from '../../support/bytes.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>

beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => directory.remove())

/** Makes files and links, and reads the directory `site`. A text after `-> ` is the target of a link. */
function read(entries: Readonly<Record<string, string>>, followLinks: boolean): Promise<LocalContent> {
  for (const [path, content] of Object.entries(entries)) {
    const file = join(directory.path, path)
    mkdirSync(dirname(file), { recursive: true })
    if (content.startsWith('-> ')) symlinkSync(content.slice(3).replace('ROOT', directory.path), file)
    else writeFileSync(file, content)
  }
  return readLocalContent(join(directory.path, 'site'), { followLinks, preserveMode: false, preserveMtime: false })
}

interface Row {
  title: string
  entries: Readonly<Record<string, string>>
  files: readonly string[]
  leftOut?: Readonly<Record<string, string>>
}

const ROWS: readonly Row[] = [
  {
    title: 'a link to a file outside',
    entries: { 'site/a': 'a', 'site/b': '-> ../out/b', 'out/b': 'outside' },
    files: ['a', 'b'],
  },
  {
    title: 'links to a directory of a store, as Nix and Bazel make them',
    entries: {
      'site/page': '-> ROOT/store/abc',
      'store/abc/x/y': 'y',
      'store/abc/lib': '-> ../def',
      'store/def/z': 'z',
    },
    files: ['page/lib/z', 'page/x/y'],
  },
  {
    title: 'packages that need each other, as pnpm links them',
    entries: {
      'site/a': '-> .pnpm/a@1/node_modules/a',
      'site/.pnpm/a@1/node_modules/a/index.js': 'a',
      'site/.pnpm/a@1/node_modules/b': '-> ../../b@1/node_modules/b',
      'site/.pnpm/b@1/node_modules/b/index.js': 'b',
      'site/.pnpm/b@1/node_modules/a': '-> ../../a@1/node_modules/a',
    },
    files: [
      '.pnpm/a@1/node_modules/a/index.js',
      '.pnpm/a@1/node_modules/b/index.js',
      '.pnpm/b@1/node_modules/a/index.js',
      '.pnpm/b@1/node_modules/b/index.js',
      'a/index.js',
    ],
  },
  {
    title: 'a link to its own directory',
    entries: { 'site/a': 'a', 'site/sub/self': '-> .', 'site/sub/b': 'b' },
    files: ['a', 'sub/b'],
    leftOut: { 'sub/self/': 'a directory that contains itself' },
  },
  {
    title: 'a link to a directory above the upload',
    entries: { 'site/up': '-> ..', 'site/a': 'a', other: 'o' },
    files: ['a', 'up/other'],
    leftOut: { 'up/site/': 'a directory that contains itself' },
  },
  {
    title: 'two directories that link to each other',
    entries: { 'site/a/f': 'f', 'site/a/b': '-> ../b', 'site/b/a': '-> ../a' },
    files: ['a/f', 'b/a/f'],
    leftOut: { 'a/b/a/': 'a directory that contains itself', 'b/a/b/': 'a directory that contains itself' },
  },
  {
    title: 'broken links',
    entries: { 'site/a': 'a', 'site/gone': '-> gone-too', 'site/in-file': '-> a/b', 'site/loop': '-> loop' },
    files: ['a'],
    leftOut: {
      gone: 'a broken symbolic link',
      'in-file': 'a broken symbolic link',
      loop: 'a broken symbolic link',
    },
  },
  {
    title: 'a link to a device',
    entries: { 'site/a': 'a', 'site/null': '-> /dev/null' },
    files: ['a'],
    leftOut: { null: 'a device, pipe or socket' },
  },
]

test.each(ROWS)('follows links: $title', async ({ entries, files, leftOut = {} }) => {
  const found = await read(entries, true)
  expect(found.files.map(({ path }) => path).toSorted()).toEqual(files)
  expect(Object.fromEntries(found.leftOut.map(({ path, what }) => [path, what]))).toEqual(leftOut)
})

test.each(ROWS)('leaves each link out without the flag: $title', async ({ entries }) => {
  const found = await read({ ...entries, 'site/own': 'own' }, false)
  const links = Object.keys(entries).filter(path => path.startsWith('site/') && entries[path]?.startsWith('-> '))
  expect(
    found.leftOut
      .filter(({ what }) => what === 'a symbolic link')
      .map(({ path }) => `site/${path}`)
      .toSorted(),
  ).toEqual(links.toSorted())
})

test('a followed file that changes while it is read is an error', async () => {
  const found = await read({ 'site/b': '-> ../out/b', 'out/b': 'outside' }, true)
  writeFileSync(join(directory.path, 'out/b'), 'another size')
  const [file] = found.files
  if (file === undefined) throw new Error('the link was not followed')
  const reading = collect(fileSource(file).stream())
  await expect(reading).rejects.toMatchObject({ code: 'INVALID_PATH', message: expect.stringContaining('changed') })
})

test('skips files and directories that cannot be read', async () => {
  const entries = { 'site/a': 'a', 'site/key': 'secret', 'site/private/b': 'b' }
  await read(entries, false)
  chmodSync(directory.path, 0o755)
  chmodSync(join(directory.path, 'site/key'), 0)
  chmodSync(join(directory.path, 'site/private'), 0)
  const found = await withoutPrivileges(() =>
    readLocalContent(join(directory.path, 'site'), { followLinks: false, preserveMode: false, preserveMtime: false }),
  )
  chmodSync(join(directory.path, 'site/private'), 0o700)
  expect(found.files.map(({ path }) => path)).toEqual(['a'])
  expect(found.leftOut).toEqual([
    { path: 'key', what: 'unreadable (permission denied)' },
    { path: 'private', what: 'unreadable (permission denied)' },
  ])
})

/** Permissions do not bind root. */
async function withoutPrivileges<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    return await run()
  } finally {
    process.seteuid?.(0)
  }
}
