import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ALIASES } from '../../../adapters/cli/all-commands.ts'
import { helpOf } from '../../../adapters/cli/help.ts'
import { VERSION } from '../../../src/domain/version.ts'
import { openAccounts } from '../../../src/index.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { needs, needsLinux } from '../../support/needs.ts'
import { runHoldfast, ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const PLAN = { timelock: true, clusters: '*' }

let directory: ReturnType<typeof temporaryDirectory>
let dataDir: string

beforeEach(() => {
  directory = temporaryDirectory()
  dataDir = join(directory.path, 'data')
})
afterEach(async () => {
  await ServerProcess.killAll()
  directory.remove()
})

/** Requests the API with a key. */
async function ask(server: ServerProcess, path: string, key: string) {
  const response = await fetch(`${server.api}${path}`, { headers: { 'x-api-key': key } })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('usage', () => {
  test.each<[string[], RegExp]>([
    [['account'], /^holdfast: a command is needed, see holdfast account --help\n$/],
    [['acount', 'list'], /unknown command acount, did you mean account list\?/],
    [['constructor'], /^holdfast: unknown command constructor, see holdfast --help\n$/],
    [['serve', '--no-such-flag'], /^holdfast: unknown flag --no-such-flag, see holdfast serve --help\n$/],
    [['frobnicate'], /^holdfast: unknown command frobnicate, see holdfast --help\n$/],
    [['uplaod', 'x'], /^holdfast: unknown command uplaod, did you mean upload\?, see holdfast --help\n$/],
    [['account', 'crate'], /unknown command account crate, did you mean account create\?, see holdfast account --help/],
    [['help', 'nothing'], /^holdfast: unknown command nothing, see holdfast --help\n$/],
    [['account', 'destroy'], /^holdfast: unknown command account destroy, see holdfast account --help\n$/],
    [['account', 'create', '--plan', 'free'], /^holdfast: --email is needed, see holdfast account create --help\n$/],
    [
      ['account', 'create', '--email', 'a@b.c', '--plan', 'gold'],
      /^holdfast: plan must be one of free, premium, u.*\n$/,
    ],
    [['account', 'create', '--email', 'nobody', '--plan', 'free'], /^holdfast: email must be .*\n$/],
    [['serve', '--port', '70000'], /^holdfast: --port must be .*\n$/],
    [['serve', '--port'], /^holdfast: .*--port.*\n$/],
    [['serve', 'now'], /^holdfast: unexpected argument now, see holdfast serve --help\n$/],
    [
      ['serve', '--config', '/nowhere/config.json'],
      /^holdfast: config file \/nowhere\/config.json cannot be read.*\n$/,
    ],
  ])('%j is one line and exit code 2', async (args, message) => {
    openAccounts({ dataDir }).close()
    const finished = await runHoldfast(args, { HOLDFAST_DATA_DIR: dataDir })
    expect(finished).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
  })

  test('key create makes an upload token, which key list --uploads shows', async () => {
    const handle = openAccounts({ dataDir })
    await handle.accounts.create({ email: 'ada@example.org', plan: 'premium' })
    handle.close()
    const env = { HOLDFAST_DATA_DIR: dataDir }
    const flags = ['--account', 'ada@example.org', '--max-uses', '3', '--max-bytes', '1000', '--cluster', 'cl1-eu']
    const made = await runHoldfast(['key', 'create', ...flags], env)
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const upload = { maxUses: 3, maxBytes: 1_000, cluster: 'cl1-eu', timelock: null }
    expect(JSON.parse(made.stdout)).toMatchObject({ scopes: ['files:write'], upload })
    const listed = await runHoldfast(['key', 'list', '--account', 'ada@example.org', '--uploads'], env)
    expect(JSON.parse(listed.stdout).keys).toMatchObject([{ upload, uses: 0 }])
    const others = await runHoldfast(['key', 'list', '--account', 'ada@example.org'], env)
    expect(JSON.parse(others.stdout).keys).toEqual([])
    const wrong = await runHoldfast(['key', 'create', '--account', 'ada@example.org', '--max-uses', 'many'], env)
    expect(wrong).toMatchObject({ code: 2, stderr: 'holdfast: --max-uses must be a whole number\n' })
    const nowhere = await runHoldfast(['key', 'create', ...flags.slice(0, -1), 'nix'], env)
    const clusters = 'cl0-global, cl1-eu, cl1-na, cl2-es, cl2-us, cl2-de'
    const refusal = `holdfast: cl names a cluster that the plan premium does not allow: choose one of ${clusters}`
    expect(nowhere).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(refusal) })
  })

  test('--check-config prints the effective settings, and creates nothing', async () => {
    const config = join(directory.path, 'holdfast.json')
    writeFileSync(config, JSON.stringify({ pin: { waitSeconds: 5 }, importRoots: ['in'], plans: { a: PLAN } }))
    const secret = 'a-secret-of-thirty-two-characters-or-more'
    const finished = await runHoldfast(['serve', '--check-config', '--config', config, '--port', '0'], {
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_BOOTSTRAP_KEY: secret,
      HOLDFAST_METRICS_TOKEN: secret,
    })
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    expect(finished.stdout).not.toContain(secret)
    expect(JSON.parse(finished.stdout)).toMatchObject({
      dataDir,
      host: '127.0.0.1',
      port: 0,
      logLevel: 'info',
      bootstrapKey: 'set',
      metricsToken: 'set',
      config: {
        pin: { waitSeconds: 5, findTimeoutSeconds: 20, maxBlocks: 10_000_000 },
        importRoots: [join(directory.path, 'in')],
        plans: { a: { maxKeys: 100, maxPins: null, pageLimit: { default: 20, max: 100 } } },
        gateway: { mode: 'own' },
        network: { enabled: true },
        console: true,
      },
    })
    expect(existsSync(dataDir)).toBe(false)
  })

  test('the console is served unless it is turned off', async () => {
    const config = join(directory.path, 'holdfast.json')
    writeFileSync(config, '{"console":false}')
    for (const args of [['--no-console'], ['--config', config]]) {
      const { stdout } = await runHoldfast(['serve', '--check-config', ...args], { HOLDFAST_DATA_DIR: dataDir })
      expect(JSON.parse(stdout).config.console).toBe(false)
    }
  })

  test.each([
    [{ pin: { waitSecond: 5 } }, /holdfast.json: pin: unknown key waitSecond, did you mean waitSeconds\?\n$/],
    [{ network: { peers: ['nobody'] } }, /network.peers.0: is not a multiaddr\n$/],
    [{ trustedProxies: -1 }, /trustedProxies: must be >= 0\n$/],
    [{ port: 80 }, /holdfast.json: port is no field of the file; set it with --port or HOLDFAST_PORT\n$/],
    [{ 'data-dir': '/srv' }, /data-dir is no field of the file; set it with --data-dir or HOLDFAST_DATA_DIR\n$/],
    [{ dataDir: '/srv' }, /dataDir is no field of the file; set it with --data-dir or HOLDFAST_DATA_DIR\n$/],
  ])('--check-config finds %j', async (value, message) => {
    const config = join(directory.path, 'holdfast.json')
    writeFileSync(config, JSON.stringify(value))
    const finished = await runHoldfast(['serve', '--check-config', '--config', config], { HOLDFAST_DATA_DIR: dataDir })
    expect(finished).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
  })

  test('a configuration may name its schema', async () => {
    const config = join(directory.path, 'holdfast.json')
    writeFileSync(config, '{"$schema":"./holdfast.schema.json","console":false}')
    const finished = await runHoldfast(['serve', '--check-config', '--config', config], { HOLDFAST_DATA_DIR: dataDir })
    expect(finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('every level has its help', async () => {
    const levels = [[], ['serve'], ['account'], ['account', 'create'], ['key'], ['key', 'revoke']]
    const all = await Promise.all(levels.map(level => runHoldfast([...level, '--help'])))
    for (const [i, finished] of all.entries()) {
      expect(finished).toMatchObject({ code: 0, stderr: '' })
      expect(finished.stdout).toMatch(new RegExp(`^Usage: holdfast ${levels[i]?.join(' ')}`))
    }
  })

  test('a misspelt flag names the flag that it resembles', async () => {
    const stderr = 'holdfast: unknown flag --emial, did you mean --email?, see holdfast account create --help\n'
    expect(await runHoldfast(['account', 'create', '--emial', 'x'])).toEqual({ code: 2, stdout: '', stderr })
  })

  test('the command alone prints the help', async () => {
    expect(await runHoldfast([])).toEqual({ code: 0, stdout: `${helpOf('')}\n`, stderr: '' })
  })

  test.each([...ALIASES])('%s is another name of %s, and in the help', async (alias, topic) => {
    expect((await runHoldfast([alias, '--help'])).stdout).toBe(`${helpOf(topic)}\n`)
    expect(helpOf('')).toMatch(new RegExp(`^  ${topic}, (\\w+, )*${alias}\\b`, 'm'))
  })

  test('help and --version print their texts without loading the engine', async () => {
    const refuse = `
      import { registerHooks } from 'node:module'
      registerHooks({ resolve(specifier, context, next) {
        if (/src\\/(index|engine)\\.ts$|^better-sqlite3$/.test(specifier)) throw new Error('asked for ' + specifier)
        return next(specifier, context)
      } })`
    const light = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(refuse)}` }
    for (const topic of [[], ['serve'], ['account', 'create'], ['stats'], ['upload']]) {
      const [asked, helped] = await Promise.all([
        runHoldfast([...topic, '--help'], light),
        runHoldfast(['help', ...topic], light),
      ])
      expect(asked).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^Usage: holdfast/) })
      expect(helped).toEqual(asked)
    }
    expect(await runHoldfast(['--version'], light)).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' })
    // This fails whatever loads the engine.
    expect((await runHoldfast(['account', 'list', '--data-dir', dataDir], light)).stderr).toContain('asked for')
  })

  test('an invalid configuration is reported by every command', async () => {
    const file = join(directory.path, 'config.json')
    writeFileSync(file, '{"plans": {"team": {"timelock": true, "clusters": "*", "maxPinz": 5}}}')
    const bad = await runHoldfast(['account', 'list', '--config', file, '--data-dir', dataDir])
    expect(bad).toMatchObject({
      code: 2,
      stderr: `holdfast: config file ${file}: plans.team: unknown key maxPinz, did you mean maxPins?\n`,
    })
    writeFileSync(file, '{"plans": {"team": {"timelock": true, "clusters": "*", "maxPins": 5}}}')
    openAccounts({ dataDir }).close()
    const create = ['account', 'create', '--email', 'a@example.org', '--plan', 'team']
    const good = await runHoldfast(create, { HOLDFAST_CONFIG: file, HOLDFAST_DATA_DIR: dataDir })
    expect(JSON.parse(good.stdout)).toMatchObject({ account: { plan: 'team' } })
  })

  test.each([
    ['account', 'list'],
    ['account', 'create', '--email', 'a@example.org', '--plan', 'free'],
    ['key', 'list', '--account', 'a@example.org'],
    ['verify'],
    ['backup', '/nowhere'],
    ['takedown', 'list'],
  ])('%s %s makes no data directory of a mistyped name', async (...args) => {
    const finished = await runHoldfast([...args, '--data-dir', dataDir])
    expect(finished).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is not a data directory') })
    expect(existsSync(dataDir)).toBe(false)
  })

  test('an unusable data directory is a failure, exit code 1', async () => {
    writeFileSync(dataDir, 'in the way')
    const list = await runHoldfast(['account', 'list', '--data-dir', dataDir])
    expect(list).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^holdfast: .+\n$/) })
    const serve = await runHoldfast(['serve', '--port', '0', '--data-dir', dataDir])
    expect(serve).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^holdfast: data directory .+\n$/),
    })
  })
})

test('a password from standard input signs its account in', async () => {
  const file = join(directory.path, 'config.json')
  writeFileSync(file, '{"passwordCost": 1024}')
  openAccounts({ dataDir }).close()
  const flags = ['--data-dir', dataDir, '--config', file]
  await runHoldfast(['account', 'create', '--email', 'a@example.org', '--plan', 'free', ...flags])
  const setPassword = ['account', 'set-password', '--account', 'a@example.org', ...flags]
  const short = await runHoldfast(setPassword, {}, 'short\n')
  expect(short).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^holdfast: password must.*\n$/) })
  const server = await ServerProcess.start(dataDir, ['--config', file])
  const set = await runHoldfast(setPassword, {}, 'a password to remember\r\nand more\n')
  expect(set).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(set.stdout)).toMatchObject({ account: { email: 'a@example.org' }, passwordSet: true })
  const login = await fetch(`${server.api}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'a@example.org', password: 'a password to remember' }),
  })
  const { token } = (await login.json()) as { token: string }
  expect(await ask(server, '/users/me', token)).toMatchObject({ status: 200, body: { plan: 'free' } })
  const disabled = await runHoldfast(['account', 'disable-2fa', '--account', 'a@example.org', ...flags])
  expect(JSON.parse(disabled.stdout)).toMatchObject({ disabled: false })
  await server.stop()
  expect(server.stdout).not.toContain(token)
})

test('a link sets the password of its account once', async () => {
  const file = join(directory.path, 'config.json')
  writeFileSync(file, '{"passwordCost": 1024, "publicUrl": "https://pins.example.org/node/"}')
  const server = await ServerProcess.start(dataDir, ['--config', file])
  const line = /^Password of the owner: .* at (\S+)$/m.exec(server.stdout)?.[1] ?? ''
  const made = await runHoldfast(['account', 'password-link', '--email', 'owner@localhost', '--data-dir', dataDir], {
    HOLDFAST_CONFIG: file,
  })
  const { account, link, expiresAt } = JSON.parse(made.stdout)
  expect(account).toMatchObject({ email: 'owner@localhost' })
  expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now() + 86_000_000)
  const form = /^https:\/\/pins\.example\.org\/node\/console\/#\/password\?token=([0-9a-f]{64})$/
  const use = async (url: string) => {
    const token = form.exec(url)?.[1]
    expect(token, url).toBeDefined()
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ token, password: 'a password to remember' })
    return (await fetch(`${server.api}/auth/password`, { method: 'POST', headers, body })).status
  }
  // The command's link has replaced the first one.
  expect([await use(line), await use(link), await use(link)]).toEqual([401, 200, 401])
  await server.stop()
  const log = server.stdout.replace(line, '') + server.stderr
  expect(log).not.toContain(form.exec(link)?.[1])
  expect(log).not.toContain('password?token')
  const local = ['account', 'password-link', '--account', 'owner@localhost', '--data-dir', dataDir]
  const { stdout } = await runHoldfast(local, { HOLDFAST_PORT: '4321' })
  expect(JSON.parse(stdout).link).toMatch(/^http:\/\/127\.0\.0\.1:4321\/console\/#\/password\?token=/)
})

test('the start message has no password link without the console', async () => {
  const server = await ServerProcess.start(dataDir, ['--no-console'])
  expect(server.stdout).toContain('API key of the owner')
  expect(server.stdout).not.toContain('Password')
  await server.stop()
})

test('accounts and keys are created, changed and listed', async () => {
  openAccounts({ dataDir }).close()
  const run = async (...args: string[]) => {
    const { stdout, stderr, code } = await runHoldfast([...args, '--data-dir', dataDir])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trimEnd()).not.toContain('\n')
    return JSON.parse(stdout)
  }
  const { account, key } = await run('account', 'create', '--email', 'a@example.org', '--plan', 'free')
  expect(account).toEqual({ id: expect.any(String), email: 'a@example.org', plan: 'free' })
  expect(key).toMatch(/^hf_/)
  const again = await runHoldfast([
    'account',
    'create',
    '--email',
    'A@example.org',
    '--plan=free',
    '--data-dir',
    dataDir,
  ])
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^holdfast: email.*\n$/) })

  const moved = await run('account', 'set-plan', '--account', account.id, '--plan', 'premium')
  expect(moved).toEqual({ account: { ...account, plan: 'premium' } })
  expect(await run('account', 'list')).toMatchObject({ ...moved.account, role: 'user', disabled: false })

  const closed = await run('account', 'set-visibility', '--account', account.id, '--visibility', 'private')
  expect(closed).toEqual({ ...moved, defaultVisibility: 'private' })
  const wrong = ['account', 'set-visibility', '--account', account.id, '--visibility', 'secret', '--data-dir', dataDir]
  expect(await runHoldfast(wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining('must be "public"') })

  const scopes = ['--scopes', 'files:delete,files:read']
  const made = await run('key', 'create', '--account', 'A@EXAMPLE.org', '--name', 'ci', ...scopes)
  expect(made).toMatchObject({ key: expect.stringMatching(/^hf_/), name: 'ci', scopes: ['files:read', 'files:delete'] })
  const { keys } = await run('key', 'list', '--account', account.id)
  expect(keys).toMatchObject([
    { name: 'default', scopes: { length: 5 } },
    { name: 'ci', prefix: made.key.slice(0, 19) },
  ])
  expect(JSON.stringify(keys)).not.toContain(made.key)
  await run('key', 'revoke', '--account', account.id, '--name', 'ci')
  expect((await run('key', 'list', '--account', account.id)).keys).toHaveLength(1)
})

describe('serve', () => {
  const withCurl = needs(spawnSync('curl', ['--version']).status === 0, 'there is no curl')

  test('the lines of the first start work when pasted, and appear once', withCurl, async () => {
    const first = await ServerProcess.start(dataDir)
    expect(first.stdout).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n/)
    for (const part of [`${first.api}\n`, `${join(dataDir, 'import')}\n`]) {
      expect(first.stdout).toContain(part)
    }
    await first.until(/^curl .*\/ipfs\/.*\n/m)
    const lines = first.stdout.split('\n').filter(line => /^(printf|curl) /.test(line))
    expect(lines).toHaveLength(3)
    const [upload, list, open] = lines.map(line => execFileSync('bash', ['-c', line], { cwd: '/', encoding: 'utf8' }))
    const { cid } = JSON.parse(upload ?? '')
    expect(JSON.parse(list ?? '')).toMatchObject({ total: 1, uploads: [{ cid, name: 'hello.txt' }] })
    expect(open).toBe('Hello from Holdfast!\n')
    expect(await first.stop()).toBe(0)

    const secret = /hf_\w+/.exec(first.stdout)?.[0] ?? ''
    expect(first.stdout.split('\n').filter(line => line.startsWith('{') && line.includes(secret))).toEqual([])
    const second = await ServerProcess.start(dataDir)
    expect((await ask(second, '/users/me/uploads', secret)).body).toMatchObject({ total: 1 })
    expect(await second.stop()).toBe(0)
    expect(second.stdout).not.toMatch(/hf_|curl/)
  })

  test('an account created beside it is usable at once', async () => {
    const server = await ServerProcess.start(dataDir)
    const create = ['account', 'create', '--email', 'a@example.org', '--plan', 'free', '--data-dir', dataDir]
    const { key, account } = JSON.parse((await runHoldfast(create)).stdout)
    expect(await ask(server, '/users/me', key)).toMatchObject({ status: 200, body: { id: account.id, plan: 'free' } })
    await server.stop()
  })

  test('an account is disabled, enabled, signed out and deleted beside it', async () => {
    const file = join(directory.path, 'config.json')
    writeFileSync(file, '{"passwordCost": 1024}')
    const server = await ServerProcess.start(dataDir, ['--config', file])
    const flags = ['--data-dir', dataDir, '--config', file]
    const create = ['account', 'create', '--email', 'a@example.org', '--plan', 'free', ...flags]
    const { key, account } = JSON.parse((await runHoldfast(create)).stdout)
    const command = async (name: string, input = '') => {
      const { stdout, stderr, code } = await runHoldfast(
        ['account', name, '--account', account.id, ...flags],
        {},
        input,
      )
      expect([code, stderr]).toEqual([0, ''])
      return JSON.parse(stdout)
    }
    /** Asks until the server has noticed. */
    const becomes = (secret: string, status: number) =>
      expect.poll(async () => (await ask(server, '/users/me', secret)).status).toBe(status)
    await becomes(key, 200)
    expect(await command('disable')).toEqual({ account, disabled: true })
    await becomes(key, 403)
    expect(await command('enable')).toEqual({ account, disabled: false })
    await becomes(key, 200)
    await command('set-password', 'a password to remember\n')
    const login = await fetch(`${server.api}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.org', password: 'a password to remember' }),
    })
    const { token } = (await login.json()) as { token: string }
    await becomes(token, 200)
    expect(await command('sessions')).toMatchObject({ account, sessions: [{ createdAt: expect.any(String) }] })
    expect(await command('end-sessions')).toEqual({ account, ended: 1 })
    await becomes(token, 401)
    expect(await command('delete')).toEqual({ account, deleted: true })
    await becomes(key, 401)
    const gone = await runHoldfast(['account', 'delete', '--account', account.id, ...flags])
    expect(gone).toMatchObject({ code: 1, stderr: `holdfast: there is no account ${account.id}\n` })
    await server.stop()
  })

  test('a chosen key is the owner’s, never printed, and changeable', async () => {
    const chosen = `a key of one's own, long enough "$x"`
    const first = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: chosen })
    expect(await ask(first, '/users/me', chosen)).toMatchObject({ status: 200, body: { plan: 'unlimited' } })
    await first.stop()
    expect(first.stdout).not.toContain(chosen)
    expect(first.stdout).toContain('"X-API-Key: $HOLDFAST_BOOTSTRAP_KEY"')

    const same = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: chosen })
    expect((await ask(same, '/tokens/list', chosen)).body).toHaveLength(1)
    await same.stop()

    const changed = chosen.toUpperCase()
    const other = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: changed })
    expect((await ask(other, '/users/me', changed)).status).toBe(200)
    expect((await ask(other, '/users/me', chosen)).status).toBe(401)
    await other.stop()

    const short = await runHoldfast(['serve', '--port=0', '--data-dir', dataDir], { HOLDFAST_BOOTSTRAP_KEY: 'short' })
    expect(short).toMatchObject({ code: 2, stderr: expect.stringMatching(/^holdfast: HOLDFAST_BOOTSTRAP_KEY: .*\n$/) })
  })

  test('a signal lets an upload end, then exits with 0', async () => {
    const key = 'x'.repeat(40)
    const server = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: key })
    const request = http.request(`${server.api}/files`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'multipart/form-data; boundary=b', expect: '100-continue' },
    })
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    // The server invites the body once the request is under way.
    request.flushHeaders()
    await once(request, 'continue')
    request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nfirst half, ')
    server.signal('SIGINT')
    await server.until(/"signal":"SIGINT"/)
    expect((await fetch(`${server.url}/ready`)).status).toBe(503)
    request.end('second half\r\n--b--\r\n')
    const [response] = await answered
    expect(response.statusCode).toBe(201)
    expect(JSON.parse(await text(response))).toMatchObject({ size: 23 })
    expect(await server.ended()).toBe(0)
  })

  test('a taken port is a failure that leaves nothing running', async () => {
    const port = `${await fixedPort(1)}`
    // Both ports are taken, and the error names the API's.
    const server = await ServerProcess.start(dataDir, ['--port', port])
    const other = join(directory.path, 'other')
    const taken = await runHoldfast(['serve', '--data-dir', other], { HOLDFAST_PORT: port, HOLDFAST_HOST: '127.0.0.1' })
    expect(taken).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        `cannot listen on 127.0.0.1:${port}: .* choose another port with --host and --port`,
      ),
    })
    await server.stop()
    // The key of a failed first start was never shown, so the next start must show one.
    const next = await ServerProcess.start(other)
    await next.until(/hf_\w+/)
    await next.stop()
  })

  test('the thread pool has its configured size', needsLinux, async () => {
    const server = await ServerProcess.start(dataDir)
    const tasks = `/proc/${server.pid}/task`
    const names = readdirSync(tasks).map(task => readFileSync(join(tasks, task, 'comm'), 'utf8').trim())
    expect(names.filter(name => name === 'libuv-worker')).toHaveLength(8)
    await server.stop()
  })
})
