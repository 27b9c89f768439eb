import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, stat, symlink, truncate, unlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { helpOf } from '../../../adapters/cli/help.ts'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import type { EngineConfig } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { scriptedServer } from '../../support/scripted-server.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine

/** Allows gateways on this machine. Requests do not wait for a pin, because the command does. */
const CONFIG: EngineConfig = {
  network: { enabled: true, allowPrivateGateways: true, listen: [] },
  pin: { waitSeconds: 0.001, findTimeoutSeconds: 5 },
}

beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'), CONFIG)
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

/** Runs a command as the owner of the server. */
function run(...args: string[]) {
  return runHoldfast(args, served.env)
}

/** Returns the JSON objects that a successful command prints. */
async function json(...args: string[]) {
  const finished = await run(...args, '--json')
  expect(finished).toMatchObject({ code: 0, stderr: '' })
  return finished.stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

async function makeFiles(name: string, files: Record<string, string | Uint8Array>): Promise<string> {
  const root = join(directory.path, name)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}

/** Makes a command believe that it prints to a terminal. */
const PRETEND = 'data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=80'

test('on a terminal uploads have links, and lists fit its width', async () => {
  const file = join(await makeFiles('terminal', { 'a.txt': 'opened' }), 'a.txt')
  const terminal = { ...served.env, NODE_OPTIONS: `--import=${PRETEND}` }
  const { stdout } = await runHoldfast(['upload', file], terminal)
  const [, cid, url = ''] = /^(baf\w+) {2}.*a\.txt\n {2}(http\S+)\n$/.exec(stdout) ?? []
  expect(url).toMatch(new RegExp(`/ipfs/${cid}$`))
  expect(await (await fetch(url)).text()).toBe('opened')
  const listed = await runHoldfast(['ls', '--cid', cid ?? ''], terminal)
  expect(listed.stdout.split('\n').every(line => line.length <= 80)).toBe(true)
  expect(listed.stdout).toMatch(new RegExp(`^${cid} +6 B\n  a\\.txt  `))
})

test('a private upload has no link, and is read with get', async () => {
  const file = join(await makeFiles('secret', { 'a.txt': 'for its account' }), 'a.txt')
  const terminal = { ...served.env, NODE_OPTIONS: `--import=${PRETEND}` }
  const { stdout } = await runHoldfast(['upload', '--private', file], terminal)
  const [, cid = '', way = ''] = /^(baf\w+) {2}.*a\.txt\n {2}private: holdfast (.+)\n$/.exec(stdout) ?? []
  const copy = join(directory.path, 'secret-copy.txt')
  expect(await run(...way.split(' '), '--out', copy)).toMatchObject({ code: 0 })
  expect(await readFile(copy, 'utf8')).toBe('for its account')
  expect((await fetch(`${served.url}/ipfs/${cid}`)).status).toBe(404)
  expect(await json('upload', '--private', file)).toMatchObject([{ cid, url: null, visibility: 'private' }])
  expect((await run('upload', '--private', file)).stdout).toBe(`${cid}  ${file}\n`)
})

test('content is public if asked for, where private is the default', async () => {
  const file = join(await makeFiles('shown', { 'a.txt': 'for everybody' }), 'a.txt')
  const hidden = join(await makeFiles('hidden', { 'a.txt': 'for its account by default' }), 'a.txt')
  const car = join(directory.path, 'shown.car')
  const client = new HoldfastClient({ base: `${served.url}/api/v3`, key: served.key })
  await client.account.update({ defaultVisibility: 'private' })
  try {
    expect(await json('upload', hidden)).toMatchObject([{ visibility: 'private' }])
    const [{ cid = '' } = {}] = await json('upload', '--public', file)
    expect((await fetch(`${served.url}/ipfs/${cid}`)).status).toBe(200)
    expect(await json('pin', '--public', cid, '--name', 'pinned anew')).toMatchObject([{ visibility: 'public' }])
    await writeFile(car, await (await fetch(`${served.url}/ipfs/${cid}?format=car`)).bytes())
    expect((await run('import', '--public', car, '--name', 'imported anew')).code).toBe(0)
    expect(await json('ls', '--only', 'public', '--name', 'imported anew')).toMatchObject([{ cid }])
    expect(await run('upload', '--public', '--private', file)).toMatchObject({ code: 2 })
  } finally {
    await client.account.update({ defaultVisibility: 'public' })
  }
})

test('get and cat read a private folder with its account’s key only', async () => {
  const files = { 'a b.txt': 'for its account', 'deep/big.bin': pseudoRandom(1_500_000, 'private') }
  const folder = await makeFiles('own', files)
  const [{ cid = '' } = {}] = await json('upload', '--private', folder)
  expect((await run('cat', `${cid}/a b.txt`)).stdout).toBe('for its account')
  const copy = join(directory.path, 'own-copy')
  const tar = join(directory.path, 'own-copy.tar')
  for (const out of [
    ['--out', copy],
    ['--tar', '--out', tar],
  ])
    expect(await run('get', cid, ...out)).toMatchObject({ code: 0 })
  for (const [name, content] of Object.entries(files)) {
    expect((await readFile(join(copy, name))).equals(Buffer.from(content))).toBe(true)
  }
  expect((await readFile(tar)).includes('for its account')).toBe(true)
  const stranger = { ...served.env, HOLDFAST_API_KEY: 'hf_none' }
  for (const args of [
    ['cat', `${cid}/a b.txt`],
    ['get', cid, '--out', `${copy}-2`],
    ['get', cid, '--tar', '--out', `${tar}-2`],
  ]) {
    const { code, stdout, stderr } = await runHoldfast(args, stranger)
    expect([code, stdout, stderr.includes('for its account')]).toEqual([1, '', false])
  }
  expect([existsSync(`${copy}-2`), existsSync(`${tar}-2`)]).toEqual([false, false])
})

test('a link is printed also without the scope cluster:read', async () => {
  const file = join(await makeFiles('scoped', { 'a.txt': 'scoped' }), 'a.txt')
  const client = new HoldfastClient({ base: `${served.url}/api/v3`, key: served.key })
  const { token } = await client.keys.create({ name: 'writer', scopes: ['files:write'] })
  const { stdout } = await runHoldfast(['upload', file, '--json'], { ...served.env, HOLDFAST_API_KEY: token })
  const { cid, url } = JSON.parse(stdout)
  expect(url).toBe(`${served.url}/ipfs/${cid}`)
})

function opened(path: string) {
  return fetch(`${served.url}/ipfs/${path}`).then(response => response.arrayBuffer().then(Buffer.from))
}

test('a directory uploads all files, and lists skipped links and directories', async () => {
  const files = {
    'index.html': '<h1>here</h1>',
    '.well-known/.hidden/key': 'hidden',
    'a/b/c/d.txt': 'deep',
    'ü ñ/日本.txt': 'names',
    'say "hi" 100%.txt': 'quoted',
    'big.bin': pseudoRandom(700_000, 'big'),
    empty: '',
  }
  const root = await makeFiles('site', files)
  await mkdir(join(root, 'nothing/here'), { recursive: true })
  await symlink('index.html', join(root, 'link'))

  const finished = await run('upload', root)
  expect(finished.code).toBe(3)
  expect(finished.stderr.split('\n').slice(1, -1)).toEqual([
    '  link: a symbolic link',
    '  nothing/here/: an empty directory',
    'holdfast: 1 upload went without the entries listed as skipped',
  ])
  const [, cid = ''] = /^(baf\w+) {2}.*site\n$/.exec(finished.stdout) ?? []
  for (const [path, content] of Object.entries(files)) {
    const encoded = path.split('/').map(encodeURIComponent).join('/')
    expect((await opened(`${cid}/${encoded}`)).equals(Buffer.from(content)), path).toBe(true)
  }
  const listed = await json('ls', cid)
  expect(listed.map(({ path }) => path).toSorted()).toEqual(Object.keys(files).toSorted())
  expect((await json('ls', '--cid', cid)).map(({ name }) => name)).toEqual(['site'])
})

test('links of a build tool are followed only with --follow-symlinks', async () => {
  await makeFiles('store', { 'abc-page/index.html': '<h1>built</h1>' })
  const root = await makeFiles('result', { 'own.txt': 'own', 'sub/x.txt': 'x' })
  await symlink(join(directory.path, 'store/abc-page'), join(root, 'page'))
  await symlink('../..', join(root, 'sub/up'))
  await symlink('absent', join(root, 'broken'))

  const without = await run('upload', root)
  expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining('page: a symbolic link') })
  const [, bare = ''] = /^(baf\w+)/.exec(without.stdout) ?? []
  expect((await json('ls', bare)).map(({ path }) => path).toSorted()).toEqual(['own.txt', 'sub/x.txt'])

  await unlink(join(root, 'broken'))
  await unlink(join(root, 'sub/up'))
  const [followed] = await json('upload', root, '--follow-symlinks')
  expect(followed.leftOut).toEqual([])
  expect((await opened(`${followed.cid}/page/index.html`)).toString()).toBe('<h1>built</h1>')
  expect(await run('upload', root, '--follow-symlinks')).toMatchObject({ code: 0, stderr: '' })
})

test('a downloaded file has the permissions that the umask allows', async () => {
  const file = join(await makeFiles('shared', { 'a.txt': 'shared' }), 'a.txt')
  const [{ cid }] = await json('upload', file)
  const out = join(directory.path, 'got.txt')
  await json('get', cid, '--out', out)
  expect((await stat(out)).mode & 0o777).toBe(0o666 & ~process.umask())
})

test('a folder goes without the names that a form cannot carry', async () => {
  const root = await makeFiles('mixed', {
    'a.txt': 'a',
    'back\\slash': 'b',
    'sub/line\nbreak': 'c',
    'per%22cent/x': 'd',
  })
  await writeFile(Buffer.concat([Buffer.from(join(root, 'caf')), Buffer.from([0xe9])]), 'e')
  await writeFile(Buffer.concat([Buffer.from(join(root, 'caf')), Buffer.from([0xe8])]), 'f')
  const finished = await run('upload', root)
  expect(finished).toMatchObject({ code: 3, stderr: expect.stringContaining('back\\slash: a name with a backslash') })
  const [, cid = ''] = /^(baf\w+)/.exec(finished.stdout) ?? []
  expect((await json('ls', cid)).map(({ path }) => path).toSorted()).toEqual(['a.txt', 'caf\uefe8', 'caf\uefe9'])
})

test('permissions and times are stored on request, with empty directories', async () => {
  const root = await makeFiles('kept', { 'a.txt': 'a' })
  await mkdir(join(root, 'nothing'), { mode: 0o750 })
  await chmod(join(root, 'a.txt'), 0o640)
  const time = new Date(1_604_320_500_000)
  await utimes(join(root, 'a.txt'), time, time)
  const [plain] = await json('upload', root)
  const [kept] = await json('upload', root, '--preserve-mode', '--preserve-mtime')
  expect(kept.cid).not.toBe(plain.cid)
  expect(kept.leftOut).toEqual([])
  const out = join(directory.path, 'kept-again')
  await json('get', kept.cid, '--out', out)
  const found = await stat(join(out, 'a.txt'))
  expect([found.mode & 0o777, found.mtimeMs]).toEqual([0o640 & ~process.umask(), time.getTime()])
  expect((await stat(join(out, 'nothing'))).isDirectory()).toBe(true)
})

test('a single file keeps its permissions and its time, only on request', async () => {
  const file = join(await makeFiles('single', { 'run.sh': '#!/bin/sh' }), 'run.sh')
  await chmod(file, 0o6750)
  const time = new Date(1_604_320_500_000)
  await utimes(file, time, time)
  const got = async (...flags: string[]) => {
    const [{ cid }] = await json('upload', file, ...flags)
    const out = join(directory.path, `single-${flags.length}-${flags[0] ?? ''}`)
    await json('get', cid, '--out', out)
    return stat(out)
  }
  const umask = process.umask()
  const kept = await got('--preserve-mode', '--preserve-mtime')
  expect([kept.mode & 0o7777, kept.mtimeMs]).toEqual([0o750 & ~umask, time.getTime()])
  const executable = await got('--preserve-mode')
  expect([executable.mode & 0o7777, executable.mtimeMs > time.getTime()]).toEqual([0o750 & ~umask, true])
  const dated = await got('--preserve-mtime')
  expect([dated.mode & 0o7777, dated.mtimeMs]).toEqual([0o644 & ~umask, time.getTime()])
})

test('a folder of unsupported names is refused by name', async () => {
  for (const name of ['back\\slash', 'line\nbreak', 'per%22cent']) {
    const root = await makeFiles(`odd-${name.length}`, { [name]: 'x' })
    const finished = await run('upload', root)
    expect(finished).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^holdfast: there are no files in .* that can be uploaded: .* is a name with .*\n$/,
      ),
    })
  }
})

test('a file takes a name, cluster and expiry; several upload separately', async () => {
  const first = join(await makeFiles('plain', { 'a.txt': 'first' }), 'a.txt')
  const timelock = '2099-01-01T00:00:00.000Z'
  const flags = ['--name', 'renamed "a".txt', '--cluster', 'cl1-eu', '--timelock', timelock]
  const [made] = await json('upload', first, ...flags)
  expect(made).toMatchObject({
    path: first,
    name: 'renamed "a".txt',
    clusterId: 'cl1-eu',
    expiresAt: timelock,
    size: 5,
  })
  expect(await json('ls', '--expiring')).toMatchObject([{ uploadId: made.uploadId }])
  expect(await (await fetch(made.url)).text()).toBe('first')

  const second = join(await makeFiles('plain', { 'b.txt': 'second' }), 'b.txt')
  const several = await run('upload', first, join(directory.path, 'nowhere'), second)
  expect(several.code).toBe(1)
  expect(several.stdout).toMatch(/^baf\w+ {2}.*a\.txt\nbaf\w+ {2}.*b\.txt\n$/)
  expect(several.stderr).toMatch(/nowhere: no such file or directory\n.*1 of 3 uploads failed\n$/)
})

test('uploads are found by name and metadata', async () => {
  const dir = await makeFiles('found', { 'Needle.txt': 'needle', 'hay.txt': 'hay' })
  const meta = ['--meta', 'album=pets', '--meta', 'rated=a=b']
  expect((await run('upload', join(dir, 'Needle.txt'), ...meta)).code).toBe(0)
  expect((await run('upload', join(dir, 'hay.txt'), '--meta', 'album=pets')).code).toBe(0)
  const names = async (...flags: string[]) => (await json('ls', ...flags)).map(({ name }) => name)
  expect(await names('--name', 'NEEDLE')).toEqual(['Needle.txt'])
  expect(await names('--meta', 'album=pets')).toEqual(['hay.txt', 'Needle.txt'])
  expect(await json('ls', ...meta)).toMatchObject([{ name: 'Needle.txt', meta: { album: 'pets', rated: 'a=b' } }])
  expect((await run('upload', join(dir, 'hay.txt'), '--private')).code).toBe(0)
  expect(await json('ls', '--only', 'private', '--name', 'hay')).toMatchObject([{ visibility: 'private' }])
  expect(await names('--only', 'public', '--name', 'hay')).toEqual(['hay.txt'])
  expect(await run('ls', '--only', 'mine')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('visibility must be'),
  })
  expect(await run('ls', '--meta', 'nothing')).toMatchObject({ code: 2, stderr: expect.stringContaining('KEY=VALUE') })
})

test('a refusal ends a large upload early, in the server’s words', async () => {
  const huge = join(directory.path, 'huge')
  await writeFile(huge, '')
  // Sending all of it would take longer than the test.
  await truncate(huge, 2 ** 40)
  const cluster = await run('upload', huge, '--cluster', 'cl9-nowhere')
  expect(cluster).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/\(403 CLUSTER_NOT_ALLOWED\)\n$/),
  })
  const stranger = await run('upload', huge, '--key', 'x'.repeat(40))
  expect(stranger).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/\(401 INVALID_API_KEY\)\n$/) })
})

test('lists are complete, page by page, each row once', async () => {
  const names = Array.from({ length: 230 }, (_, i) => `${i}.txt`)
  const root = await makeFiles('many', Object.fromEntries(names.map(name => [name, name])))
  const [{ cid }] = await json('upload', root)
  const rows = await json('ls', cid)
  expect(rows.map(({ path }) => path).toSorted()).toEqual(names.toSorted())
  const table = (await run('ls', cid)).stdout.split('\n')
  expect(table[0]).toMatch(/^CID +SIZE {2}PATH$/)
  expect(table).toHaveLength(232)
})

test('names cannot control the terminal', async () => {
  const file = join(await makeFiles('plain', { 'c.txt': 'third' }), 'c.txt')
  await json('upload', file, '--name', 'evil\u202Ename')
  const { stdout } = await run('ls')
  expect(stdout).toContain('evil\uFFFDname')
  expect(stdout).not.toContain('\u202E')
})

describe('pins', () => {
  test('are awaited, shown and removed', async () => {
    const other = await serveEngine(join(directory.path, 'other'))
    const root = await makeFiles('far', { 'one.bin': pseudoRandom(3_000_000, 'one'), 'two.txt': 'two' })
    const { cid } = JSON.parse((await runHoldfast(['upload', root, '--json'], other.env)).stdout)

    const flags = ['--origin', other.url, '--name', 'from afar', '--wait']
    const [pinned] = await json('pin', cid, ...flags)
    expect(pinned).toMatchObject({ cid, status: 'pinned', customName: 'from afar' })
    expect((await opened(`${cid}/two.txt`)).toString()).toBe('two')
    expect(await run('pin', cid, '--name', 'from afar')).toEqual({ code: 0, stdout: `${cid}  pinned\n`, stderr: '' })

    const status = await run('status', cid)
    expect(status.stdout).toMatch(/^name +from afar$/m)
    expect(status.stdout).toMatch(/^clusters +cl0-global pinned$/m)
    expect(await run('rm', cid, '--cluster', 'cl1-eu')).toMatchObject({ code: 1 })
    expect(await run('rm', cid)).toEqual({ code: 0, stdout: `${cid}  removed\n`, stderr: '' })
    const gone = await run('status', cid)
    expect(gone).toEqual({
      code: 1,
      stdout: '',
      stderr: 'holdfast: no pin for this cid: see the list of pins (404 PIN_NOT_FOUND)\n',
    })
    await other[Symbol.asyncDispose]()
  })

  test('fail for missing content and invalid CIDs', async () => {
    const nobody = await run('pin', 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm')
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringMatching(/\(404 CID_NOT_FOUND\)\n$/) })
    const nonsense = await run('pin', 'ipfs://what is/this?')
    expect(nonsense).toMatchObject({ code: 2, stderr: expect.stringContaining('is no CID, such as bafy… or Qm…') })
  })
})

test('standard input uploads under a name, and its URL downloads it', async () => {
  const content = pseudoRandom(300_000, 'input').toString('hex')
  const made = await runHoldfast(['upload', '-', '--name', 'a b.txt', '--json'], served.env, content)
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const { cid, url, size, name } = JSON.parse(made.stdout)
  expect({ size, name }).toEqual({ size: content.length, name: 'a b.txt' })
  expect((await run('cat', url)).stdout).toBe(content)
  const out = join(directory.path, 'input.txt')
  expect(await json('get', `http://${cid}.ipfs.localhost:1/?query#part`, '--out', out)).toHaveLength(1)
  expect(await readFile(out, 'utf8')).toBe(content)
  const unnamed = await runHoldfast(['upload', '-'], served.env, content)
  expect(unnamed).toEqual({ code: 2, stdout: '', stderr: 'holdfast: --name is needed, see holdfast upload --help\n' })
})

test('a URL of a path in a directory downloads that file', async () => {
  const root = await makeFiles('urls', { 'a b/100%.txt': 'below' })
  const [{ url }] = await json('upload', root)
  expect((await run('cat', `${url}/a%20b/100%25.txt`)).stdout).toBe('below')
  for (const wrong of ['http://example.org/ipfs/', 'https://example.org/a', `${url}/%zz`, 'http://[']) {
    const stderr = `holdfast: ${wrong} is not a URL of content, which has /ipfs/CID in its path\n`
    expect(await run('cat', wrong)).toEqual({ code: 2, stdout: '', stderr })
  }
})

test('lists nothing for a file, and fails for a missing CID', async () => {
  const missing = await run('ls', 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm')
  expect(missing).toEqual({
    code: 1,
    stdout: '',
    stderr: 'holdfast: no pin for this cid: see the list of pins (404 PIN_NOT_FOUND)\n',
  })
  const [{ cid }] = await json('upload', join(await makeFiles('single', { 'a.txt': 'single' }), 'a.txt'))
  expect(await run('ls', cid)).toEqual({ code: 0, stdout: '', stderr: '' })
})

describe('usage', () => {
  test('a mistake is one line, with exit code 2', async () => {
    const wrong: [string[], Record<string, string>, RegExp][] = [
      [['upload'], {}, /^holdfast: a file or directory is needed, see holdfast upload --help\n$/],
      [['rm', 'a', 'b'], {}, /^holdfast: unexpected argument b, see holdfast rm --help\n$/],
      [['upload', 'a', 'b', '--name', 'c'], {}, /^holdfast: --name requires a single upload.*\n$/],
      [
        ['ls'],
        { HOLDFAST_API_KEY: '' },
        /^holdfast: an API key is needed: log in, set HOLDFAST_API_KEY, or give --key\n$/,
      ],
      [['ls', '--api', 'ftp://x'], {}, /^holdfast: --api must be the URL of an API base.*\n$/],
      [['ls'], { HOLDFAST_API: 'nonsense' }, /^holdfast: HOLDFAST_API must be the URL of an API base.*\n$/],
      [['pin', 'cid', '--wait=yes'], {}, /^holdfast: .*--wait.*\n$/],
    ]
    await Promise.all(
      wrong.map(async ([args, env, message]) => {
        const finished = await runHoldfast(args, { ...served.env, ...env })
        const expected = { code: 2, stdout: '', stderr: expect.stringMatching(message) }
        expect(finished, args.join(' ')).toMatchObject(expected)
      }),
    )
  })

  test('an unreachable server is a failure that says so', async () => {
    await using gone = await scriptedServer()
    const { origin } = new URL(gone.base)
    await gone[Symbol.asyncDispose]()
    const stderr = `holdfast: nothing listens at ${origin}: is the server running?\n`
    expect(await run('ls', '--api', origin)).toEqual({ code: 1, stdout: '', stderr })
  })

  test('names the plain port when an https URL fails', async () => {
    const secure = served.url.replace('http', 'https')
    const stderr = `holdfast: the server at ${secure} speaks plain HTTP: use ${served.url}\n`
    expect(await run('ls', '--api', secure)).toEqual({ code: 1, stdout: '', stderr })
  })

  test('every command has help with an example', async () => {
    for (const command of ['upload', 'ls', 'pin', 'status', 'rm', 'stats', 'gc', 'verify', 'accounts'] as const) {
      expect(helpOf(command)).toMatch(new RegExp(`^Usage: holdfast ${command} `))
      expect(helpOf(command)).toMatch(new RegExp(`^ {2}holdfast ${command}`, 'm'))
    }
    expect(await runHoldfast(['upload', '--help'])).toEqual({ code: 0, stdout: `${helpOf('upload')}\n`, stderr: '' })
  })
})

test('a directory is downloaded into a new folder', async () => {
  const large = pseudoRandom(300_000, 'folder')
  const long = `${'long/'.repeat(30)}ü.txt`
  const root = await makeFiles('folder', { 'a b.txt': 'text', [long]: 'deep', 'sub/large.bin': large, empty: '' })
  const [{ cid }] = await json('upload', root)
  const out = join(directory.path, 'unpacked')
  expect(await json('get', cid, '--out', `${out}/`)).toEqual([
    { folder: out, files: 4, bytes: 300_008, skippedLinks: 0, renamed: 0 },
  ])
  expect(await readFile(join(out, 'a b.txt'), 'utf8')).toBe('text')
  expect(await readFile(join(out, long), 'utf8')).toBe('deep')
  expect((await readFile(join(out, 'sub/large.bin'))).equals(large)).toBe(true)
  expect(await readFile(join(out, 'empty'), 'utf8')).toBe('')
  const again = await run('get', cid, '--out', out)
  expect(again).toEqual({ code: 1, stdout: '', stderr: `holdfast: ${out} exists: name a new folder with --out\n` })
})

test('files are downloaded and printed, also as TAR', async () => {
  const large = pseudoRandom(300_000, 'get')
  const root = await makeFiles('got', { 'a b.txt': 'text\n', 'sub/large.bin': large })
  const [{ cid }] = await json('upload', root)
  expect((await run('cat', `${cid}/a b.txt`)).stdout).toBe('text\n')
  expect((await run('cat', `ipfs://${cid}/a b.txt`)).stdout).toBe('text\n')
  const out = join(directory.path, 'out.bin')
  expect(await json('get', `/ipfs/${cid}/sub/large.bin`, '--out', out)).toEqual([{ file: out, bytes: 300_000 }])
  expect((await readFile(out)).equals(large)).toBe(true)
  const tar = join(directory.path, 'out.tar')
  await json('get', cid, '--tar', '--out', tar)
  expect((await readFile(tar)).includes(large)).toBe(true)

  const stderr = expect.stringMatching(/is a directory: .* get --tar/)
  expect(await run('cat', cid)).toMatchObject({ code: 2, stdout: '', stderr })
  expect(await run('get', `${cid}/missing`, '--out', join(directory.path, 'none'))).toMatchObject({ code: 1 })
  expect(existsSync(join(directory.path, 'none'))).toBe(false)
  expect(await run('get', `${cid}/..`)).toMatchObject({ code: 2, stderr: expect.stringContaining('--out is needed') })
})
