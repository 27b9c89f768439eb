import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAccounts } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { fixedPort } from '../support/fixed-port.ts'
import { needs } from '../support/needs.ts'
import { runHoldfast, ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const DEPLOY = join(import.meta.dirname, '../../examples/deploy')
const UNITS = globSync('*.{service,timer}', { cwd: DEPLOY })
const NAME = 'pins.example.org'
const CONTENT = 'content.example.org'

let directory: ReturnType<typeof temporaryDirectory>
let server: ServerProcess
let key: string
let gatewayUrl: string

const certificate = () => join(directory.path, 'cert.pem')
const privateKey = () => join(directory.path, 'key.pem')
const FORM_START = '--b\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8')
const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** Each alert, with series of promtool for its fault and for a healthy server. A sample is a minute. */
const ALERTS: ReadonlyArray<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]> = [
  ['HoldfastDown', { 'up{job="holdfast"}': '0x130' }, { 'up{job="holdfast"}': '1x130', 'up{job="other"}': '0x130' }],
  ['HoldfastDiskFull', { holdfast_disk_full: '1x130' }, { holdfast_disk_full: '0x130' }],
  [
    'HoldfastDiskFillsUp',
    { holdfast_disk_free_bytes: '3000-1x130', holdfast_disk_reserve_bytes: '400x130' },
    { holdfast_disk_free_bytes: '4000-1x130', holdfast_disk_reserve_bytes: '400x130' },
  ],
  ['HoldfastDamage', { holdfast_damaged_blocks: '1x130' }, { holdfast_damaged_blocks: '0x130' }],
  [
    'HoldfastFails',
    { 'holdfast_requests_total{status="200"}': '0+95x130', 'holdfast_requests_total{status="503"}': '0+2x130' },
    { 'holdfast_requests_total{status="200"}': '0+250x130', 'holdfast_requests_total{status="503"}': '0+2x130' },
  ],
  [
    'HoldfastStalls',
    { holdfast_loop_stalled_seconds_total: '0+2x130' },
    { holdfast_loop_stalled_seconds_total: '0+1x130' },
  ],
  [
    'HoldfastUnverified',
    { holdfast_verification_behind_seconds: '260000x130' },
    { holdfast_verification_behind_seconds: '250000x130' },
  ],
  [
    'HoldfastBackupOld',
    { holdfast_newest_backup_timestamp_seconds: '-180000x130' },
    { holdfast_newest_backup_timestamp_seconds: '-140000x130' },
  ],
  ['HoldfastClusterAway', { holdfast_cluster_up: '0x130' }, { holdfast_cluster_up: '1x130' }],
  ['HoldfastNoPeers', { holdfast_public_network_up: '0x130' }, { holdfast_public_network_up: '1x130' }],
  ['HoldfastClockSkew', { holdfast_clock_skew_seconds: '3x130' }, { holdfast_clock_skew_seconds: '1.9x130' }],
  ['HoldfastClockSkew', { holdfast_clock_skew_seconds: '-3x130' }, { holdfast_clock_skew_seconds: '-1.9x130' }],
]

beforeAll(async () => {
  directory = temporaryDirectory()
  const dataDir = join(directory.path, 'data')
  const accounts = openAccounts({ dataDir })
  const { id } = await accounts.accounts.create({ email: 'a@example.org', plan: 'free' })
  key = (await accounts.keys.create(id, { name: 'all' })).secret
  accounts.close()
  const config = join(directory.path, 'config.json')
  writeFileSync(config, JSON.stringify(configOf(read('../../docs/guides/install-on-a-server.md'))))
  const gatewayPort = await fixedPort()
  gatewayUrl = `http://127.0.0.1:${gatewayPort}`
  const args = ['--config', config, '--gateway-port', `${gatewayPort}`]
  server = await ServerProcess.start(dataDir, args, { HOLDFAST_METRICS: 'all' }, 200_000)
})
afterAll(async () => {
  await ServerProcess.killAll()
  directory.remove()
})

/** Returns the initial configuration that the document shows. */
function configOf(document: string): object {
  return JSON.parse(/^```json \S+\n([^`]*)```/m.exec(document)?.[1] ?? '') as object
}

/** Sends a request through the proxy over TLS, under its configured host name. */
async function ask(port: number, options: RequestOptions, body?: Uint8Array | null) {
  const host = { host: '127.0.0.1', port, servername: NAME, rejectUnauthorized: false, agent: false as const }
  const asked = request({ ...host, ...options, headers: { host: NAME, 'x-api-key': key, ...options.headers } })
  // With a null body, the headers announce a body that is never sent.
  if (body === null) asked.flushHeaders()
  else asked.end(body)
  const [answer] = await once(asked, 'response')
  const policy = answer.headers['content-security-policy'] as string | undefined
  const encoding = answer.headers['content-encoding'] as string | undefined
  const said = { status: answer.statusCode as number, policy, encoding, text: await text(answer) }
  asked.on('error', () => {}).destroy()
  return said
}

/** Runs a proxy until the work is done. */
async function withProxy(command: string, args: string[], port: number, work: () => Promise<void>): Promise<void> {
  const env = { ...process.env, HOME: directory.path, XDG_DATA_HOME: directory.path, XDG_CONFIG_HOME: directory.path }
  const proxy: ChildProcess = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  proxy.stderr?.setEncoding('utf8').on('data', (part: string) => {
    said += part
  })
  const ended = once(proxy, 'exit')
  try {
    for (;;) {
      if (proxy.exitCode !== null) throw new Error(said)
      const isUp = await ask(port, { path: '/health' }).catch(() => null)
      if (isUp !== null) break
      await pause(50)
    }
    await work()
  } finally {
    proxy.kill('SIGTERM')
    await ended
  }
}

/** Checks what clients need from any proxy. */
async function checkService(port: number): Promise<void> {
  const bytes = Buffer.alloc(3_000_000, `through the proxy at ${port} `)
  const form = new FormData()
  form.append('file', new Blob([bytes]), 'large.txt')
  const whole = new Response(form)
  const headers = { 'content-type': whole.headers.get('content-type') ?? '' }
  const uploaded = await ask(port, { method: 'POST', path: '/api/v3/files', headers }, await whole.bytes())
  expect(uploaded).toMatchObject({ status: 201 })
  const { cid } = JSON.parse(uploaded.text) as { cid: string }
  expect((await ask(port, { path: `/ipfs/${cid}` })).text).toBe(bytes.toString())
  const { text: clusters } = await ask(port, { path: '/api/v3/users/me/clusters' })
  expect(clusters).toContain(`https://${CONTENT}/ipfs/`)
  const content = { host: CONTENT }
  const page = await ask(port, { path: `/ipfs/${cid}?filename=a.html`, headers: content, servername: CONTENT })
  expect(page).toMatchObject({ status: 200, text: bytes.toString(), policy: undefined })
  const shared = await ask(port, { path: `/ipfs/${cid}?filename=a.html` })
  expect(shared.policy).toMatch(/^sandbox /)
  expect((await ask(port, { path: '/api/v3', headers: content, servername: CONTENT })).status).toBe(404)
  // The proxy compresses text of the gateway, but no part of it and no media.
  const packed = { ...content, 'accept-encoding': 'gzip' }
  const encodingOf = async (name: string, headers: Readonly<Record<string, string>> = packed) =>
    (await ask(port, { path: `/ipfs/${cid}?filename=${name}`, headers, servername: CONTENT })).encoding
  expect(await encodingOf('a.html')).toBe('gzip')
  expect(await encodingOf('a')).toBe('gzip')
  expect(await encodingOf('a.json')).toBe('gzip')
  expect(await encodingOf('a.png')).toBe(undefined)
  expect(await encodingOf('a.html', content)).toBe(undefined)
  expect(await encodingOf('a.html', { ...packed, range: 'bytes=0-99999' })).toBe(undefined)
  // The node answers before the body arrives. The proxy must pass that answer on at once.
  const large = { ...headers, 'content-length': 2 ** 40 }
  const refused = await ask(port, { method: 'POST', path: '/api/v3/files', headers: large }, null)
  expect(refused).toMatchObject({ status: 413, text: expect.stringContaining('FILE_TOO_LARGE') })
  expect((await ask(port, { path: '/metrics' })).status).toBe(404)
}

/** Sends 100 MiB through the proxy, and reads them back from the content's own host. */
async function checkLargeFile(port: number, trusted: RequestOptions): Promise<void> {
  const bytes = pseudoRandom(100 << 20, 'large')
  const form = Buffer.concat([Buffer.from(FORM_START), bytes, Buffer.from('\r\n--b--\r\n')])
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const uploaded = await ask(port, { ...trusted, method: 'POST', path: '/api/v3/files', headers }, form)
  expect(uploaded).toMatchObject({ status: 201 })
  const { cid } = JSON.parse(uploaded.text) as { cid: string }
  const asked = request({
    ...trusted,
    host: '127.0.0.1',
    port,
    servername: CONTENT,
    agent: false,
    path: `/ipfs/${cid}`,
    headers: { host: CONTENT },
  }).end()
  const [answer] = await once(asked, 'response')
  expect((await buffer(answer)).equals(bytes)).toBe(true)
}

function makeCertificate(): void {
  const subject = ['-subj', `/CN=${NAME}`, '-days', '2', '-keyout', privateKey(), '-out', certificate()]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], { stdio: 'ignore' })
}

const hasOpenssl = has('openssl', 'version')

test('the image links the command to its build output', () => {
  const root = join(DEPLOY, '../..')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: { holdfast: string } }
  const linked = readFileSync(join(root, 'Dockerfile'), 'utf8').match(/ln -s \/srv\/holdfast\/(\S+)/)?.[1]
  expect(`./${linked}`).toBe(bin.holdfast)
})

test('compose.tls.yaml has the configuration and the names of the examples', () => {
  const compose = read('../../compose.tls.yaml')
  const [, config = ''] = /content: \|\n([\s\S]*?)\n\n/.exec(compose) ?? []
  expect(JSON.parse(config)).toEqual(configOf(read('../../docs/guides/install-on-a-server.md')))
  for (const name of [NAME, CONTENT]) expect(read('Caddyfile')).toContain(`\n${name} {\n`)
  expect(compose).toContain('./examples/deploy/Caddyfile:/etc/caddy/Caddyfile:ro')
})

test('the images of a release are pinned by digest', () => {
  const files = ['Dockerfile', 'compose.tls.yaml'].map(name => read(`../../${name}`)).join('\n')
  const images = [...files.matchAll(/^(?:FROM|ARG BASE=| +image:) *(\S+)/gm)].map(([, image = '']) => image)
  const pinned = images.filter(image => !image.startsWith('$'))
  expect(pinned).toHaveLength(2)
  for (const image of pinned) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/)
})

test('the service works behind nginx as configured', {
  timeout: 60_000,
  ...needs(hasOpenssl && has('nginx', '-v'), 'there is no nginx, or no openssl'),
}, async () => {
  makeCertificate()
  const plain = await fixedPort(1)
  const port = plain + 1
  const site = read('nginx.conf')
    .replaceAll(/ *listen \[::\].*\n/g, '')
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
    .replaceAll(/ssl_certificate .*;/g, `ssl_certificate ${certificate()};`)
    .replaceAll(/ssl_certificate_key .*;/g, `ssl_certificate_key ${privateKey()};`)
    .replace('http://127.0.0.1:4100', server.url)
    .replace('http://127.0.0.1:4101', gatewayUrl)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${join(directory.path, name)};`,
  )
  const file = join(directory.path, 'nginx.conf')
  writeFileSync(file, `events {} http { access_log off; ${temp.join(' ')}\n${site}\n}`)
  const settings = `daemon off; pid ${join(directory.path, 'nginx.pid')};`
  await withProxy('nginx', ['-e', 'stderr', '-c', file, '-g', settings], port, async () => {
    await checkService(port)
    const moved = await fetch(`http://127.0.0.1:${plain}/ipfs/x`, { redirect: 'manual' })
    expect(moved.status).toBe(301)
    expect(moved.headers.get('location')).toMatch(/^https:\/\/.*\/ipfs\/x$/)
  })
})

test('the service works behind Caddy with certificates of a local authority', {
  timeout: 120_000,
  ...needs(has('caddy', 'version'), 'there is no Caddy'),
}, async () => {
  const port = await fixedPort()
  const site = read('Caddyfile')
    .replaceAll(/^(\S+) \{/gm, `https://$1:${port} {\n\tbind 127.0.0.1`)
    .replace('{$HOLDFAST:127.0.0.1}:4100', `{$HOLDFAST:127.0.0.1}:${new URL(server.url).port}`)
    .replace('{$HOLDFAST:127.0.0.1}:4101', `{$HOLDFAST:127.0.0.1}:${new URL(gatewayUrl).port}`)
  const file = join(directory.path, 'Caddyfile')
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n\tlocal_certs\n\tskip_install_trust\n}\n${site}`)
  await withProxy('caddy', ['run', '--adapter', 'caddyfile', '--config', file], port, async () => {
    await checkService(port)
    const ca = readFileSync(join(directory.path, 'caddy/pki/authorities/local/root.crt'))
    const trusted = { ca, rejectUnauthorized: true }
    await checkLargeFile(port, trusted)
    const { status, text: page } = await ask(port, { ...trusted, path: '/console/' })
    const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(page) ?? []
    expect([status, script]).toEqual([200, expect.stringMatching(/\.js$/)])
    const path = new URL(script, `https://${NAME}/console/`).pathname
    expect(await ask(port, { ...trusted, path })).toMatchObject({ status: 200 })
  })
})

describe('files for operators', () => {
  test('the alerts use existing metrics', async () => {
    const reported = await (await fetch(`${server.url}/metrics`)).text()
    const asked = [...new Set(read('alerts.yml').match(/holdfast_\w+/g))]
    expect(asked.length).toBeGreaterThan(5)
    // These metrics need a PostgreSQL catalogue, directories of backups, another cluster system or the public network.
    const unreported = asked.filter(name => !reported.includes(`# TYPE ${name} `))
    const conditional = ['clock_skew_seconds', 'newest_backup_timestamp_seconds', 'cluster_up', 'public_network_up']
    expect(unreported.toSorted()).toEqual(conditional.map(name => `holdfast_${name}`).toSorted())
  })

  test('each alert fires for its fault, and only for that', {
    ...needs(has('promtool', '--version'), 'there is no promtool'),
  }, () => {
    const rules = join(DEPLOY, 'alerts.yml')
    expect(spawnSync('promtool', ['check', 'rules', rules]).status).toBe(0)
    const names = [...read('alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name)
    expect([...new Set(ALERTS.map(([name]) => name))]).toEqual(names)
    expect(names.filter(name => !read('../../docs/guides/watch-it.md').includes(`| \`${name}\` |`))).toEqual([])
    const testOf = (name: string, series: Readonly<Record<string, string>>, fires: boolean) => ({
      interval: '1m',
      input_series: Object.entries(series).map(([metric, values]) => ({ series: metric, values })),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '130m',
          exp_samples: fires ? [{ labels: `{alertname="${name}"}`, value: 1 }] : [],
        },
      ],
    })
    const tests = ALERTS.flatMap(([name, faulty, healthy]) => [
      testOf(name, faulty, true),
      testOf(name, healthy, false),
    ])
    const file = join(directory.path, 'alerts-test.json')
    writeFileSync(file, JSON.stringify({ rule_files: [rules], tests }))
    const tested = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    expect([tested.status, tested.stderr]).toEqual([0, ''])
  })

  test('systemd accepts the units', needs(has('systemd-analyze', '--version'), 'there is no systemd'), () => {
    for (const name of UNITS) {
      const text = read(name).replaceAll('/opt/holdfast/node_modules/.bin/holdfast', process.execPath)
      writeFileSync(join(directory.path, name), text)
    }
    const units = UNITS.map(name => join(directory.path, name))
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], { encoding: 'utf8' })
    expect(stderr.split('\n').filter(line => line.includes('holdfast'))).toEqual([])
  })

  test('the log lines of the guide exist', () => {
    const [, table = ''] = /## Logs\n([\s\S]*?)\n## /.exec(read('../../docs/guides/watch-it.md')) ?? []
    const messages = [...table.matchAll(/^\| `(.+?)`/gm)].map(([, message = '']) => message)
    expect(messages.length).toBeGreaterThan(9)
    const root = join(DEPLOY, '../..')
    const sources = globSync('{src,adapters}/**/*.ts', { cwd: root }).map(path =>
      readFileSync(join(root, path), 'utf8'),
    )
    expect(messages.filter(message => !sources.some(text => text.includes(`'${message}'`)))).toEqual([])
  })

  test('the timers start existing commands of the installed package', async () => {
    const timers = UNITS.filter(name => name.endsWith('.timer'))
    expect(timers.length).toBe(3)
    for (const timer of timers) {
      const command = /^ExecStart=\/opt\/holdfast\/node_modules\/\.bin\/holdfast (.*)$/m
      const [, args = ''] = command.exec(read(timer.replace('.timer', '.service'))) ?? []
      // Without a server, the command fails after it has understood its arguments.
      const { code, stderr } = await runHoldfast(args.split(' '), {
        HOLDFAST_API: 'http://127.0.0.1:9/api/v3',
        HOLDFAST_API_KEY: 'k',
      })
      expect([args, code, stderr]).toEqual([args, 1, expect.not.stringContaining('--help')])
    }
  })
})
