import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGatewayServer } from '../../adapters/node-http/index.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { Engine } from '../../src/index.ts'
import { inBrowser, launchBrowser } from '../support/browser.ts'
import { openFleet, TWO_CLUSTERS } from '../support/fleet.ts'
import { blocksOf } from '../support/guide.ts'
import { needs } from '../support/needs.ts'
import { needsPostgres, startPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'
import { needsOpenssl, startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { findKubo, Kubo } from './kubo.ts'

const PINS = (process.env.HOLDFAST_TEST_HEAVY ?? '') === '' ? 50 : 1_000
const AT_ONCE = 50
const GUIDE = join(import.meta.dirname, '../../docs/guides/be-found.md')
/** Directory from which the programs of a guide find their packages. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
const CHILD = join(import.meta.dirname, '../features/routing/verified-fetch-child.ts')
const VERIFIED = join(import.meta.dirname, '../features/routing/verified-pins.ts')
const kubo = findKubo()
/** The browser reads as many pins as the other clients. */
const inChromium = { ...inBrowser, timeout: 600_000 }
const needsKubo = needs(kubo !== null, 'there is no "ipfs" on PATH, and HOLDFAST_TEST_IPFS names none')

/** Reads the CIDs through the router. Returns the number of right texts or pins. */
type Read = (front: TlsFront, cids: readonly string[]) => Promise<number>

interface Place {
  engine: Engine
  cluster: string
}

/** Uploads texts, in turns to the places. Returns their CIDs. */
async function fill(account: string, ...places: [Place, ...Place[]]): Promise<string[]> {
  const cids: string[] = []
  for (let first = 0; first < PINS; first += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, i) => first + i)
    const made = some.map(i => {
      const { engine, cluster } = places[i % places.length] ?? places[0]
      return engine.pins.upload(Buffer.from(`pin ${i}`), { account, cluster })
    })
    cids.push(...(await Promise.all(made)).map(({ record }) => record.cid))
  }
  return cids
}

/** Serves the engine's gateway behind the front. */
async function serve(engine: Engine, front: TlsFront): Promise<() => void> {
  const server = createGatewayServer(engine.ownGateway)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  front.forwardTo(typeof address === 'object' ? (address?.port ?? 0) : 0)
  return () => {
    server.close()
    server.closeAllConnections()
  }
}

async function readByVerifiedFetch(front: TlsFront, cids: readonly string[]): Promise<number> {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: front.authority }
  const child = spawn(process.execPath, [CHILD, front.url], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(cids.join('\n'))
  return Number(await text(child.stdout))
}

async function runProgram(dir: string, front: TlsFront, cid: string): Promise<string> {
  await writeFile(join(dir, 'read.mjs'), blockOf('js', 'read.mjs', front))
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: front.authority }
  const child = spawn(process.execPath, [join(dir, 'read.mjs'), cid], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  return text(child.stdout)
}

/** Opens a page of a site of its own in Chromium. Its module `/page.js` is the bundle of a file. */
async function withPage<T>(file: string, html: string, use: (page: Page) => Promise<T>): Promise<T> {
  const bundle = await rolldown({ input: file, platform: 'browser' })
  const { output } = await bundle.generate({ codeSplitting: false })
  await bundle.close()
  const script = output[0].code
  const site = http.createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html').end(isScript ? script : html)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const browser = await launchBrowser()
  try {
    // The browser trusts no authority of a test.
    const page = await browser.newPage({ ignoreHTTPSErrors: true })
    await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`)
    return await use(page)
  } finally {
    await browser.close()
    site.close()
    site.closeAllConnections()
  }
}

async function openPage(dir: string, front: TlsFront, cid: string): Promise<string> {
  const file = join(dir, 'page.mjs')
  await writeFile(file, blockOf('js', 'page.mjs', front))
  const html = `<main></main><script type="module">import { show } from '/page.js'
    await show('${cid}', document.querySelector('main'))</script>`
  return withPage(file, html, async page => {
    await page.locator('main:not(:empty)').waitFor()
    return (await page.locator('main').textContent()) ?? ''
  })
}

function readByBrowser(front: TlsFront, cids: readonly string[]): Promise<number> {
  const html = `<script type="module">import { countVerified } from '/page.js'
    Object.assign(globalThis, { countVerified })</script>`
  return withPage(VERIFIED, html, page => page.evaluate(`countVerified('${front.url}', ${JSON.stringify(cids)})`))
}

/** The text of a block of the guide, with the test's router. */
function blockOf(language: string, name: string, front: TlsFront): string {
  const block = blocksOf(GUIDE).find(one => one.language === language && one.name === name)
  return (block?.text ?? '').replaceAll('https://content.example.org', front.url)
}

function kuboCommands(front: TlsFront): string[][] {
  const lines = blockOf('sh', 'host', front).trim().split('\n')
  return lines.map(line => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''))
}

/** Pins all CIDs by a Kubo that knows only the router, and may use only HTTP. */
function pinByKubo(front: TlsFront, cids: readonly string[]): Promise<number> {
  return withTempDir(async dir => {
    const other = await Kubo.make(kubo ?? '', join(dir, 'repository'), { SSL_CERT_FILE: front.authority })
    for (const [, ...args] of kuboCommands(front)) await other.run(...args)
    await other.run('config', '--json', 'Bitswap.ServerEnabled', 'false')
    await other.start()
    try {
      await other.feed([Buffer.from(cids.join('\n'))], 'pin', 'add')
      const pinned = (await other.run('pin', 'ls', '--type=recursive', '--quiet')).split('\n')
      expect(await other.run('cat', cids.at(-1) ?? '')).toBe(`pin ${cids.length - 1}`)
      return pinned.filter(cid => cids.includes(cid)).length
    } finally {
      await other.stop()
    }
  })
}

describe('content found through /routing/v1, and read over HTTPS alone', { timeout: 600_000, ...needsOpenssl }, () => {
  let front: TlsFront
  beforeAll(async () => {
    front = await startTlsFront()
  })
  afterAll(() => front?.close())

  const readPinsOfNode = async (read: Read): Promise<void> => {
    await withEngine(
      async ({ engine, account }) => {
        const close = await serve(engine, front)
        try {
          expect(await read(front, await fill(account, { engine, cluster: 'cl0-global' }))).toBe(PINS)
        } finally {
          close()
        }
      },
      { gateway: { publicUrl: front.url } },
    )
  }

  test(`verified-fetch reads ${PINS} pins of one node`, () => readPinsOfNode(readByVerifiedFetch))
  test(`Chromium reads ${PINS} pins of one node`, inChromium, () => readPinsOfNode(readByBrowser))
  test(`Kubo reads ${PINS} pins of one node`, needsKubo, () => readPinsOfNode(pinByKubo))

  test('a program and a page of the guide read a pin', inChromium, async () => {
    const content = 'found by its CID\n'
    await withEngine(
      async ({ engine, account }) => {
        const close = await serve(engine, front)
        const { cid } = (await engine.pins.upload(Buffer.from(content), { account })).record
        await mkdir(CACHE, { recursive: true })
        try {
          await withTempDir(async dir => expect(await runProgram(dir, front, cid)).toBe(`${content}\n`), CACHE)
          await withTempDir(async dir => expect(await openPage(dir, front, cid)).toBe(content), CACHE)
        } finally {
          close()
        }
      },
      { gateway: { publicUrl: front.url } },
    )
  })

  const readPinsOfFleet = async (read: Read): Promise<void> => {
    const server = await startPostgres()
    const gateway = { publicUrl: front.url }
    const { a, b, close } = await openFleet({
      ...TWO_CLUSTERS,
      database: await server.fresh(),
      clock: systemClock,
      gateway,
    })
    const { id } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
    const end = await serve(a.engine, front)
    try {
      const cids = await fill(id, { engine: a.engine, cluster: 'first' }, { engine: b.engine, cluster: 'second' })
      expect(await read(front, cids)).toBe(PINS)
    } finally {
      end()
      await close()
      await server.stop()
    }
  }

  test(`verified-fetch reads ${PINS} pins of a fleet`, needsPostgres, () => readPinsOfFleet(readByVerifiedFetch))
  test(`Chromium reads ${PINS} pins of a fleet`, { ...inChromium, ...needsPostgres }, () =>
    readPinsOfFleet(readByBrowser),
  )
  test(`Kubo reads ${PINS} pins of a fleet`, kubo === null ? needsKubo : needsPostgres, () =>
    readPinsOfFleet(pinByKubo),
  )
})
