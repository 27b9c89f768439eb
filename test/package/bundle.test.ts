import { execFileSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../adapters/client/index.ts'
import { VERSION } from '../../src/domain/version.ts'
import { inBrowser, launchBrowser } from '../support/browser.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { signInByKey } from '../support/console-server.ts'
import { ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')
/** In the repository, so that Node resolves packages that the bundle lacks. */
const CACHES = join(ROOT, 'node_modules/.cache')

let bundle: string
let directory: ReturnType<typeof temporaryDirectory>

beforeAll(() => {
  mkdirSync(CACHES, { recursive: true })
  bundle = mkdtempSync(join(CACHES, 'bundle-'))
  directory = temporaryDirectory()
  execFileSync(process.execPath, [join(ROOT, 'tools/bundle.ts'), bundle])
})
afterAll(async () => {
  await ServerProcess.killAll()
  rmSync(bundle, { recursive: true, force: true })
  directory.remove()
})

function start(dataDir: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const variables = { NODE_COMPILE_CACHE: '', ...env }
  return ServerProcess.start(dataDir, [], variables, 60_000, [], undefined, join(bundle, 'main.js'))
}

/** Installs an older API of OpenTelemetry beside the bundle, with an SDK that prints the name of each span. */
function installOlderTracing(): string {
  const api = join(bundle, 'node_modules/@opentelemetry/api')
  cpSync(join(ROOT, 'node_modules/@opentelemetry/api'), api, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(api, 'package.json'), 'utf8')) as { version: string }
  for (const path of globSync('dist/**/*.mjs', { cwd: api })) {
    const file = join(api, path)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(version, '1.9.1'))
  }
  const program = join(bundle, 'telemetry.mjs')
  writeFileSync(
    program,
    `import { trace } from '@opentelemetry/api'
    const startSpan = name => ({ setStatus() {}, end: () => console.log('span ' + name) })
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) })`,
  )
  return program
}

describe('the bundled command line', () => {
  test('contains every thread that its code starts, and the licences', () => {
    const files = readdirSync(bundle)
    const threads = new Set<string>()
    for (const file of files.filter(name => /\.m?js$/.test(name))) {
      const code = readFileSync(join(bundle, file), 'utf8')
      for (const [, name = ''] of code.matchAll(/import\.meta\.url\.endsWith\("\.ts"\) \? "[^"]+" : "\.\/([^"]+)"/g)) {
        threads.add(name)
      }
    }
    expect([...threads].toSorted()).toEqual([
      'block-thread.js',
      'checkpoint-thread.js',
      'copy-thread.js',
      'loop-watcher.js',
      'reader-thread.js',
    ])
    expect(files).toEqual(expect.arrayContaining([...threads, 'main.js']))
    expect(readFileSync(join(bundle, 'main.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env -S node --/)
    expect(readFileSync(join(bundle, 'LICENSES.txt'), 'utf8')).toMatch(/^libp2p [\d.]+ \(Apache-2\.0 OR MIT\)$/m)
    expect(readFileSync(join(bundle, 'LICENSES.txt'), 'utf8')).toMatch(/^preact [\d.]+ \(MIT\)$/m)
    const told = execFileSync(process.execPath, [join(bundle, 'main.js'), '--version'], { encoding: 'utf8' })
    expect(told).toBe(`${VERSION}\n`)
  })

  test('contains the console, which loads in a few requests and signs in', inBrowser, async () => {
    const server = await start(join(directory.path, 'console'))
    const [, key = ''] = /^API key of the owner, .*: (\S+)$/m.exec(server.stdout) ?? []
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      let bytes = 0
      const answered: string[] = []
      page.on('response', response => {
        answered.push(new URL(response.url()).pathname)
        bytes += Number(response.headers()['content-length'])
      })
      await signInByKey(page, { origin: server.url, key })
      const parts = [...new Set(answered)].filter(path => /^\/console\/.*\.\w+$/.test(path))
      expect([parts.length <= 6, bytes < 60_000, parts.includes('/console/main.js')]).toEqual([true, true, true])
      // The pages of the account and of the owner are files of their own, which load when they are opened.
      await page.getByRole('link', { name: 'Node' }).click()
      await page.getByRole('heading', { name: 'Over time' }).waitFor()
      expect(/^console {8}(\S+)$/m.exec(server.stdout)?.[1]).toBe(`${server.url}/console/`)
    } finally {
      await browser.close()
      await server.stop()
    }
  })

  test('gives its spans to the installed API of OpenTelemetry', async () => {
    const config = join(directory.path, 'tracing.json')
    writeFileSync(config, JSON.stringify({ tracing: true }))
    const env = { NODE_OPTIONS: `--import=${installOlderTracing()}`, HOLDFAST_CONFIG: config }
    const server = await start(join(directory.path, 'traced'), env)
    await fetch(`${server.url}/health`)
    expect(await server.stop()).toBe(0)
    expect(server.stdout).toContain('span GET /health\n')
  })

  test('serves, and keeps its compile cache private in the data directory', async () => {
    const dataDir = join(directory.path, 'data')
    const cache = join(dataDir, 'cache')
    const first = await start(dataDir)
    const [, key = ''] = /^API key of the owner, .*: (\S+)$/m.exec(first.stdout) ?? []
    const client = new HoldfastClient({ base: first.url, key })
    const bytes = pseudoRandom(3_000_000, 'bundle')
    const { cid } = await client.files.upload(bytes)
    expect((await collect((await client.content.file(cid)).stream)).equals(bytes)).toBe(true)
    expect(await first.stop()).toBe(0)
    expect(first.stdout).not.toContain('event-loop watch failed')
    expect(readdirSync(dataDir)).not.toContain('cache')

    const second = await start(dataDir)
    expect(statSync(cache).mode & 0o777).toBe(0o700)
    // Checked while it runs, because a killed server must keep its cache too.
    await expect.poll(() => readdirSync(cache, { recursive: true }).length).toBeGreaterThan(5)
    const again = new HoldfastClient({ base: second.url })
    expect((await again.content.file(cid)).size).toBe(bytes.length)
    await second.stop()
  })
})
