import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import { expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { needs } from '../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource } from '../support/old-source.ts'
import { runHoldfast, ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'

const ROOT = join(import.meta.dirname, '../..')
const SOURCE = OLD_SOURCES['0.1.0']
const PASSWORD = 'a password to remember'
const EMAIL = 'ada@example.org'
const FILES: ReadonlyArray<[name: string, bytes: Buffer]> = [20, 40_000, 2_500_000].map(size => [
  `file-${size}`,
  pseudoRandom(size, `packed ${size}`),
])

/** Builds 0.1.0 as its package is built, with the installed dependencies. Returns its command line. */
function build(dir: string): string {
  unpackSource(SOURCE, dir)
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: dir })
  return join(dir, 'dist', 'adapters', 'node-http', 'main.js')
}

class Client {
  readonly #api: string
  readonly #credential: string

  constructor(api: string, credential = '') {
    this.#api = api
    this.#credential = credential
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
  async ask(method: string, path: string, body?: FormData | object): Promise<any> {
    const isForm = body instanceof FormData
    const response = await fetch(`${this.#api}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#credential}`,
        ...(isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    expect(response.ok, `${method} ${path} ${response.status}`).toBe(true)
    return response.json()
  }
}

function formOf(field: string, files: ReadonlyArray<[string, Buffer]>, fields: Record<string, string> = {}): FormData {
  const form = new FormData()
  for (const [name, bytes] of files) form.append(field, new Blob([new Uint8Array(bytes)]), name)
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

const LISTED = '/users/me/uploads?limit=100'

test('this version keeps everything stored by a build of 0.1.0', {
  ...needs(hasSource(SOURCE), 'the history does not reach back to 0.1.0'),
  timeout: 240_000,
}, async () => {
  await withTempDir(async dir => {
    const main = build(join(dir, 'holdfast-0.1.0'))
    const dataDir = join(dir, 'data')
    const old = (args: readonly string[], input = ''): string =>
      execFileSync(process.execPath, [main, ...args, '--data-dir', dataDir], { input, encoding: 'utf8' })
    const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--data-dir', dataDir], { stdio: 'pipe' })
    const exited = once(child, 'exit')
    let key = ''
    let before: { uploads: object[] }
    let secret: Uint8Array
    const cids: string[] = []
    try {
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      while (!/^API key of the owner.*\n/m.test(text)) await Promise.race([once(child.stdout, 'data'), exited])
      const api = /^API base\s+(\S+)/m.exec(text)?.[1] ?? ''
      key = /shown only this once: (\S+)/.exec(text)?.[1] ?? ''
      const owner = new Client(api, key)
      for (const file of FILES) cids.push((await owner.ask('POST', '/files', formOf('file', [file]))).cid)
      const { cid } = await owner.ask('POST', '/files/directory-dag', formOf('files[]', FILES, { dirName: 'docs' }))
      const timelock = '2040-01-01T00:00:00.000Z'
      await owner.ask('POST', '/files', formOf('file', [['later', Buffer.from('later')]], { timelock }))
      await owner.ask('POST', `/files/pin/${cids[1]}`, { customName: 'again' })
      cids.push(cid)
      old(['account', 'create', '--email', EMAIL, '--plan', 'premium'])
      old(['account', 'set-password', '--email', EMAIL], `${PASSWORD}\n`)
      const { token } = await new Client(api).ask('POST', '/auth/login', { email: EMAIL, password: PASSWORD })
      const ada = new Client(api, token)
      const setUp = await ada.ask('POST', '/auth/2fa/setup')
      secret = base32upper.baseDecode(setUp.secret)
      await ada.ask('POST', '/auth/2fa/enable', { code: totpCode(secret, totpStep(Date.now())) })
      before = await owner.ask('GET', LISTED)
      child.kill('SIGTERM')
      expect((await exited)[0]).toBe(0)
    } finally {
      child.kill('SIGKILL')
      await exited
    }

    const server = await ServerProcess.start(dataDir, [], {}, 60_000)
    try {
      const owner = new Client(server.api, key)
      const after = await owner.ask('GET', LISTED)
      expect(after.total).toBe(6)
      expect(after.uploads).toMatchObject(before.uploads)
      const read = async (path: string) => Buffer.from(await (await fetch(`${server.url}/ipfs/${path}`)).arrayBuffer())
      for (const [index, [name, bytes]] of FILES.entries()) {
        expect((await read(cids[index] ?? '')).equals(bytes)).toBe(true)
        expect((await read(`${cids[3]}/${name}`)).equals(bytes)).toBe(true)
      }
      const { temporaryToken } = await new Client(server.api).ask('POST', '/auth/login', {
        email: EMAIL,
        password: PASSWORD,
      })
      const code = totpCode(secret, totpStep(Date.now()) + 1)
      const signedIn = await new Client(server.api).ask('POST', '/auth/2fa/verify-login', { temporaryToken, code })
      expect(signedIn.user.email).toBe(EMAIL)
      expect(await server.stop()).toBe(0)
    } finally {
      // Before its directory is removed.
      await ServerProcess.killAll()
    }
    const looked = await runHoldfast(['reconcile', '--dry-run', '--json', '--data-dir', dataDir])
    expect([looked.code, looked.stderr]).toEqual([0, ''])
    expect((await runHoldfast(['verify', '--data-dir', dataDir])).code).toBe(0)
  })
})
