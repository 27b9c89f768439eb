import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { createEngine } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { needs } from '../../support/needs.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const MAIN = resolve(import.meta.dirname, '../../../adapters/cli/main.ts')
const KEY = 'k'.repeat(40)
/** A user without a home directory and without an entry in `/etc/passwd`. */
const USER = 54_321
/** Runs `$@` with a read-only file system except for `$1`, without capabilities. */
const HARDENED = `
  mount --bind "$1" "$1" || exit 99
  for place in $(awk '{ print $5 }' /proc/self/mountinfo); do
    case $place in /proc*|/sys*|"$1"*) ;; *) mount -o remount,ro,bind "$place" 2>/dev/null ;; esac
  done
  shift
  user=$1
  shift
  cd /
  exec setpriv "--reuid=$user" "--regid=$user" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`

function hardened(directory: string, args: readonly string[], user = USER): [string, string[]] {
  const command = [process.execPath, MAIN, ...args]
  return [
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-c', HARDENED, 'sh', directory, String(user), ...command],
  ]
}

const isPossible = spawnSync('unshare', ['--mount', 'setpriv', '--version']).status === 0 && process.getuid?.() === 0
const needsNamespaces = needs(isPossible, 'only root can make namespaces')

/** Runs a command without any variable of this process. Returns its output. */
async function run(directory: string, args: readonly string[], user = USER): Promise<string> {
  const [file, given] = hardened(directory, args, user)
  return new Promise((done, fail) => {
    execFile(file, given, { env: { PATH: process.env.PATH } }, (error, stdout) => (error ? fail(error) : done(stdout)))
  })
}

function own(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(path, { recursive: true })
    chownSync(path, USER, USER)
  }
}

test('a server writes only to its data directory', { timeout: 120_000, ...needsNamespaces }, () =>
  withTempDir(async directory => {
    const data = join(directory, 'data')
    own(directory, data)
    const config = join(directory, 'config.json')
    writeFileSync(config, JSON.stringify({ network: { enabled: false } }))
    const args = ['serve', '--data-dir', data, '--config', config, '--port', '0', '--gateway-port', '0']
    const [file, given] = hardened(data, args)
    const env = { PATH: process.env.PATH, HOLDFAST_BOOTSTRAP_KEY: KEY }
    for (const round of ['first', 'second']) {
      const server = spawn(file, given, { env, stdio: ['ignore', 'pipe', 'inherit'] })
      let url = ''
      for await (const line of createInterface(server.stdout)) {
        url = /^listening on (\S+)/.exec(line)?.[1] ?? url
        if (line.startsWith('import folder')) break
      }
      const form = new FormData()
      form.append('file', new Blob([Uint8Array.from(pseudoRandom(3_000_000, round))]), 'large.bin')
      const headers = { 'x-api-key': KEY }
      const stored = await fetch(`${url}/api/v3/files`, { method: 'POST', headers, body: form })
      expect(stored.status).toBe(201)
      const { cid } = (await stored.json()) as { cid: string }
      for (const path of [`/ipfs/${cid}?format=car`, `/ipfs/${cid}?format=tar`, '/api/v3/users/me/uploads?sort=name']) {
        const answer = await fetch(`${url}${path}`, { headers })
        expect([path, answer.status]).toEqual([path, 200])
        await answer.arrayBuffer()
      }
      server.kill('SIGTERM')
      expect(await once(server, 'exit')).toEqual([0, null])
    }
    own(join(directory, 'backup'))
    expect(await run(directory, ['backup', join(directory, 'backup'), '--data-dir', data])).toContain('new')
    const restored = join(directory, 'restored')
    expect(await run(directory, ['restore', join(directory, 'backup'), '--data-dir', restored])).toContain('checked')
    expect(await run(data, ['verify', '--data-dir', data])).toContain('0 damaged')
  }),
)

test('compact writes its temporary files to the data directory', { timeout: 120_000, ...needsNamespaces }, () =>
  withTempDir(async data => {
    await (await createEngine({ dataDir: data })).stop()
    withDatabase(data, db => {
      db.prepare('CREATE TABLE filling (bytes BLOB)').run()
      const row = db.prepare('INSERT INTO filling VALUES (randomblob(1000000))')
      // More than the cache of SQLite has.
      for (let i = 0; i < 100; i++) row.run()
    })
    expect(await run(data, ['compact', '--data-dir', data], 0)).toContain('database')
  }),
)
