import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { CarReader, CarWriter } from '@ipld/car'
import { CID } from 'multiformats/cid'

/**
 * Runs the official conformance suite for IPFS gateways against a new server, and prints the results by the suite's
 * groups.
 *
 * Usage: `node tools/gateway-conformance.ts <checkout of ipfs/gateway-conformance>`; Go must be on `PATH`. Exits with 1
 * if a test fails that is not in {@link DIFFERENT}.
 */

/** Specifications that this gateway does not implement: mutable names. */
const LEFT_OUT = ['path-ipns-gateway', 'subdomain-ipns-gateway', 'trustless-ipns-gateway', 'dnslink-gateway']

const LISTINGS = "The tests expect the text and links of Kubo's pages. Holdfast's pages differ and have relative links."

/** Prefixes of tests that fail on purpose, with the reason. */
const DIFFERENT: ReadonlyArray<[name: string, reason: string]> = [
  ['TestUnixFSDirectoryListing/path_gw:_backlink', LISTINGS],
  ['TestUnixFSDirectoryListing/path_gw:_dir_listing_HTML', LISTINGS],
  ['TestUnixFSDirectoryListingOnSubdomainGateway/backlink', LISTINGS],
  ['TestUnixFSDirectoryListingOnSubdomainGateway/Regular_dir_listing_HTML', LISTINGS],
  ['TestGatewaySubdomains/valid_', LISTINGS],
  [
    'TestGatewaySubdomains/request_for_example.com%2Fipfs%2F%7BInvalidCID%7D_produces',
    'Errors are JSON, which escapes the expected quotes.',
  ],
  [
    'TestUnixFSDirectoryListing/path_gw:_redirect_dir',
    'The redirect is relative, so that it works with any prefix that a proxy strips.',
  ],
  ['TestGatewaySymlink/', 'Symbolic links are followed within their root. The answer is the target, not its path.'],
  [
    'TestGatewaySubdomains/request_for_fake.domain.com%2Fipfs%2F%7BCID%7D_with_X-Forwarded-Host:_example.com_match',
    "A proxy that does not send the scheme may use TLS, so the redirect keeps the client's scheme.",
  ],
  ['TestProxyTunnelGatewaySubdomains/', 'The server is no tunnel and refuses CONNECT.'],
]

const HOST = 'example.com'
const KEY = 'key-of-the-owner-for-the-conformance-suite'
const RAW = 0x55

type Outcome = 'pass' | 'fail' | 'skip'
interface Event {
  Action: string
  Test?: string
  Output?: string
}

const work = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'))
try {
  process.exitCode = (await main(process.argv[2])) ? 0 : 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

async function main(path: string | undefined): Promise<boolean> {
  if (path === undefined) throw new Error('usage: node tools/gateway-conformance.ts <checkout of the suite>')
  const suite = resolve(path)
  const program = join(work, 'gateway-conformance')
  execFileSync('go', ['build', '-o', program, './cmd/gateway-conformance'], { cwd: suite, stdio: 'inherit' })
  const fixtures = join(work, 'fixtures')
  execFileSync(program, ['extract-fixtures', '--directory', fixtures], { cwd: suite })
  const server = await startServer()
  try {
    for (const name of readdirSync(fixtures)
      .filter(file => file.endsWith('.car'))
      .sort()) {
      await provide(server.base, readFileSync(join(fixtures, name)))
    }
    const report = join(work, 'report.json')
    const urls = ['--gateway-url', server.base, '--subdomain-url', server.base.replace('127.0.0.1', HOST)]
    const specs = ['--specs', LEFT_OUT.map(spec => `-${spec}`).join(',')]
    const run = spawn(program, ['test', ...urls, ...specs, '--json-output', report], { cwd: suite, stdio: 'ignore' })
    await once(run, 'exit')
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: suite, encoding: 'utf8' }).trim()
    return printResults(readFileSync(report, 'utf8'), commit)
  } finally {
    await server.stop()
  }
}

async function startServer(): Promise<{ base: string; stop: () => Promise<void> }> {
  const config = join(work, 'config.json')
  writeFileSync(config, JSON.stringify({ gateway: { host: HOST }, trustedProxies: 1 }))
  const flags = ['--port', '0', '--data-dir', join(work, 'data'), '--config', config]
  const child = spawn(process.execPath, ['adapters/cli/main.ts', 'serve', ...flags], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, HOLDFAST_BOOTSTRAP_KEY: KEY, HOLDFAST_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill()
    await ended
  }
  for await (const line of createInterface({ input: child.stdout })) {
    const base = /^listening on (http\S+)/.exec(line)?.[1]
    if (base === undefined) continue
    child.stdout.resume()
    return { base, stop }
  }
  throw new Error('the server has not started')
}

/** If a DAG lacks blocks, pins each existing block by itself. */
async function provide(base: string, car: Uint8Array): Promise<void> {
  const answer = await importCar(base, car)
  if (answer.ok) return
  const reader = await CarReader.fromBytes(car)
  for await (const { cid, bytes } of reader.blocks()) {
    const raw = CID.createV1(RAW, cid.multihash)
    const { writer, out } = CarWriter.create([raw])
    const whole = buffer(out)
    await writer.put({ cid: raw, bytes })
    await writer.close()
    const single = await importCar(base, await whole)
    if (!single.ok) throw new Error(`a fixture was refused: ${await single.text()}`)
  }
}

function importCar(base: string, car: Uint8Array): Promise<Response> {
  const headers = { 'x-api-key': KEY, 'content-type': 'application/vnd.ipld.car' }
  return fetch(`${base}/api/v3/files/car`, { method: 'POST', headers, body: Uint8Array.from(car) })
}

/** Returns true if only expected tests failed. */
function printResults(report: string, commit: string): boolean {
  const events = report
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Event)
  const outcomes = new Map<string, Outcome>()
  const groups = new Map<string, string>()
  for (const { Action, Test, Output } of events) {
    if (Test === undefined) continue
    if (Action === 'pass' || Action === 'fail' || Action === 'skip') outcomes.set(Test, Action)
    const group = /--- META: .*"group":"([^"]+)"/.exec(Output ?? '')?.[1]
    if (group !== undefined) groups.set(Test.split('/')[0] ?? Test, group)
  }
  const names = [...outcomes.keys()]
  const parents = new Set(
    names.flatMap(name => name.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))),
  )
  const leaves = names.filter(name => !parents.has(name))
  const figures = new Map<string, Record<Outcome, number>>()
  for (const name of leaves) {
    const group = groups.get(name.split('/')[0] ?? '') ?? 'without a group'
    const figure = figures.get(group) ?? { pass: 0, fail: 0, skip: 0 }
    figure[outcomes.get(name) ?? 'skip']++
    figures.set(group, figure)
  }
  console.log(`gateway-conformance at ${commit}\n`)
  for (const [group, { pass, fail, skip }] of [...figures].sort()) {
    console.log(`${group.padEnd(28)} ${String(pass).padStart(4)} of ${pass + fail} passed, ${skip} not run`)
  }
  const failed = leaves.filter(name => outcomes.get(name) === 'fail')
  const unexpected = failed.filter(name => !DIFFERENT.some(([known]) => name.startsWith(known)))
  for (const reason of new Set(DIFFERENT.map(([, why]) => why))) {
    const count = failed.filter(name =>
      DIFFERENT.some(([known, why]) => why === reason && name.startsWith(known)),
    ).length
    console.log(`\n${count} failed on purpose. ${reason}`)
  }
  for (const name of unexpected) console.log(`FAILED ${name}`)
  return unexpected.length === 0
}
