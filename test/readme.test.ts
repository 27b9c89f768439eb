import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

/** A project in which `holdfast` is installed: its two entries lead to the sources, which run as they are. */
async function project(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-readme-'))
  const installed = join(dir, 'node_modules', 'holdfast')
  await mkdir(installed, { recursive: true })
  const entries = { '.': 'src/index.ts', './node-http': 'adapters/node-http/index.ts' }
  const exports: Record<string, string> = {}
  for (const [entry, source] of Object.entries(entries)) {
    const file = `./${source.replaceAll('/', '-')}.js`
    exports[entry] = file
    const url = pathToFileURL(join(root, source))
    await writeFile(join(installed, file), `export * from ${JSON.stringify(url)}\n`)
  }
  await writeFile(join(installed, 'package.json'), JSON.stringify({ name: 'holdfast', type: 'module', exports }))
  await writeFile(join(dir, 'package.json'), JSON.stringify({ type: 'module' }))
  return dir
}

describe('README', () => {
  let readme: string
  let dir: string

  beforeAll(async () => {
    readme = await readFile(join(root, 'README.md'), 'utf8')
    dir = await project()
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))

  test('its embedding example runs as written', async () => {
    const example = /```js\n([\s\S]+?)```/.exec(readme)?.[1] ?? ''
    await writeFile(join(dir, 'example.js'), example)
    const { stdout } = await run(process.execPath, ['example.js'], { cwd: dir, timeout: 20_000 })
    expect(stdout).toMatch(/^bafkrei\w+ 1\nhello, holdfast\n/)
  })

  test('it names only files that exist', async () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(match => match[1] ?? '')
    const sources = [...readme.matchAll(/`((?:src|docs|test|adapters)\/[\w./-]+)`/g)].map(match => match[1] ?? '')
    expect(links.length).toBeGreaterThan(2)
    for (const file of [...links, ...sources]) await expect(readFile(join(root, file)), file).resolves.toBeDefined()
  })
})
