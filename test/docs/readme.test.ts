import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linkPackage } from '../support/linked-package.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

describe('README', () => {
  let readme: string
  let dir: string

  beforeAll(async () => {
    readme = await readFile(join(root, 'README.md'), 'utf8')
    dir = await mkdtemp(join(tmpdir(), 'holdfast-readme-'))
    await linkPackage(dir)
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))

  test('its embedding example runs as written', async () => {
    const example = /```js\n([\s\S]+?)```/.exec(readme)?.[1] ?? ''
    await writeFile(join(dir, 'example.js'), example)
    const { stdout } = await run(process.execPath, ['example.js'], { cwd: dir, timeout: 20_000 })
    expect(stdout).toMatch(/^bafkrei\w+ 1\nhello, holdfast\n/)
  })
})
