import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, writeFiles } from '../support/guide.ts'
import { linkPackage } from '../support/linked-package.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache')

let dir: string

beforeAll(async () => {
  await mkdir(CACHE, { recursive: true })
  dir = await mkdtemp(join(CACHE, 'bundlers-'))
  await linkPackage(dir)
  writeFiles(blocksOf(join(ROOT, 'docs/reference/bundlers.md')), dir)
})
afterAll(() => rm(dir, { recursive: true, force: true }))

async function run(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: dir, timeout: 60_000 })
  return stdout
}

test('an SSR bundle of Vite runs with the configuration of the page', async () => {
  await run(join(ROOT, 'node_modules/vite/bin/vite.js'), 'build')
  expect(await readFile(join(dir, 'out/app.js'), 'utf8')).toContain('from "holdfast"')
  expect(await run('out/app.js')).toBe('pinned\n')
})

test('a bundle of Rolldown runs with the package outside', async () => {
  const bundle = await rolldown({ input: join(dir, 'app.js'), external: [/^holdfast(\/|$)/], platform: 'node' })
  await bundle.write({ file: join(dir, 'rolled/app.js') })
  await bundle.close()
  expect(await run('rolled/app.js')).toBe('pinned\n')
})
