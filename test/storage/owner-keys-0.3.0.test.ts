import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource } from '../support/old-source.ts'
import { type Env, ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'

const SOURCE = OLD_SOURCES['0.3.0']
const CHOSEN = 'a-secret-of-0.3.0-that-an-operator-chose-0123456789'
const isThere = needs(hasSource(SOURCE), 'the history does not reach back to 0.3.0')

afterEach(() => ServerProcess.killAll())

/** Makes a data directory with 0.3.0. Returns the key that its start message shows, and starts this version on it. */
function upgraded(env: Env, run: (server: ServerProcess, shownKey: string | undefined) => Promise<void>) {
  return withTempDir(async directory => {
    const [source, dataDir, config] = ['source', 'data', 'config.json'].map(name => join(directory, name)) as [
      string,
      string,
      string,
    ]
    unpackSource(SOURCE, source)
    writeFileSync(config, JSON.stringify({ network: { enabled: false } }))
    const main = join(source, 'adapters', 'cli', 'main.ts')
    const before = await ServerProcess.start(dataDir, ['--config', config], env, 60_000, [], undefined, main)
    await before.until(/API key/)
    const shownKey = /API key of the owner[^\n]*?(hf_\S+)/s.exec(before.stdout)?.[1]
    expect(await before.stop()).toBe(0)
    const server = await ServerProcess.start(dataDir, ['--config', config], env)
    await run(server, shownKey)
    expect(await server.stop()).toBe(0)
  })
}

/** Checks that a key has the rights of an owner, and that it publishes nothing private. */
async function expectOwner(server: ServerProcess, key: string | undefined): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  expect((await fetch(`${server.url}/admin/v1/accounts`, { headers })).status).toBe(200)
  const body = JSON.stringify({ name: 'Boss' })
  expect((await fetch(`${server.api}/users/me`, { method: 'PUT', headers, body })).status).toBe(200)
  const form = new FormData()
  form.append('file', new Blob(['private after the upgrade']), 'x.txt')
  form.append('visibility', 'private')
  const { authorization } = headers
  const made = await fetch(`${server.api}/files`, { method: 'POST', headers: { authorization }, body: form })
  const { cid, visibility } = (await made.json()) as { cid: string; visibility: string }
  expect([made.status, visibility]).toEqual([201, 'private'])
  const pin = { method: 'POST', headers, body: JSON.stringify({ visibility: 'public' }) }
  expect((await fetch(`${server.api}/files/pin/${cid}`, pin)).status).toBe(404)
}

describe('a data directory of 0.3.0', { ...isThere, timeout: 120_000 }, () => {
  test('keeps the stored key of its owner', () => upgraded({}, expectOwner))

  test('keeps the adopted key of its owner', () =>
    upgraded({ HOLDFAST_BOOTSTRAP_KEY: CHOSEN }, server => expectOwner(server, CHOSEN)))
})
