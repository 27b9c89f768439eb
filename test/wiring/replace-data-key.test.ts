import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { createEngine, type EngineOptions, replaceDataKey } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { callApi } from '../support/api-call.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { runHoldfast } from '../support/server-process.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'

const PASSWORD = 'a password to remember'
const EMAIL = 'someone@example.org'
const HOOK = 'https://hook.invalid/'
const SECRET = Buffer.from('a secret in clear 20')
const START = {
  passwordCost: 1_024,
  network: { enabled: true, listen: ['/ip4/127.0.0.1/tcp/0'] },
} satisfies Partial<EngineOptions>

/** Runs with a data directory that has a network identity, an account with a second factor, and content. */
async function withData(run: (data: { dataDir: string; cid: string; peer: string }) => Promise<void>): Promise<void> {
  await withTempDir(async dataDir => {
    const engine = await createEngine({ ...START, dataDir: newDirectory(dataDir) })
    const { id } = await engine.accounts.create({ email: EMAIL, plan: 'unlimited', password: PASSWORD })
    const { cid } = (await engine.pins.upload(Buffer.from('kept'), { account: id })).record
    const peer = await peerOf(engine)
    await engine.stop()
    const db = new Database(join(dataDir, 'holdfast.db'))
    const insert = 'INSERT INTO second_factors (account_id, secret, enabled_at, last_step) VALUES (?, ?, 1, -1)'
    db.prepare<[string, Uint8Array]>(insert).run(id, SECRET)
    const hook = "INSERT INTO webhooks (id, account_id, url, secret, created_at) VALUES ('w', ?, ?, x'00', 0)"
    db.prepare<[string, string]>(hook).run(id, HOOK)
    const identity = "INSERT INTO identities (issuer, subject, account_id, refresh_token) VALUES ('i', 's', ?, x'00')"
    db.prepare<[string]>(identity).run(id)
    db.close()
    // The first start seals the identity.
    await (await createEngine({ ...START, dataDir: newDirectory(dataDir) })).stop()
    await run({ dataDir, cid, peer })
  })
}

async function peerOf(engine: Awaited<ReturnType<typeof createEngine>>): Promise<string> {
  return (await engine.addresses())[0]?.split('/p2p/')[1] ?? ''
}

interface Seen {
  needsCode: boolean
  status: number
  peer: string
}

/** Returns what an engine on the directory has left. */
async function seenIn(dataDir: string, cid: string): Promise<Seen> {
  const clock = new ManualClock()
  const engine = await createEngine({ ...START, dataDir: newDirectory(dataDir), clock })
  try {
    const credentials = JSON.stringify({ email: EMAIL, password: PASSWORD })
    const { temporaryToken } = (await callApi(engine, 'POST', '/auth/login', { body: credentials })).json
    const body = JSON.stringify({ temporaryToken, code: totpCode(SECRET, totpStep(clock.now())) })
    if (temporaryToken !== undefined)
      expect((await callApi(engine, 'POST', '/auth/2fa/verify-login', { body })).status).toBe(200)
    const { status } = await viaGateway(engine, `/ipfs/${cid}`)
    return { needsCode: temporaryToken !== undefined, status, peer: await peerOf(engine) }
  } finally {
    await engine.stop()
  }
}

function secretsIn(dataDir: string): number {
  const tokens = 'SELECT COUNT(refresh_token) FROM identities'
  return withDatabase(dataDir, db => {
    return db.prepare<[], { count: number }>(`SELECT COUNT(*) + (${tokens}) AS count FROM webhooks`).get()?.count ?? -1
  })
}

const OTHER_KEY = `${'A'.repeat(43)}\n`

describe('a lost data.key', () => {
  test.each<[problem: string, lose: (path: string) => Promise<unknown>]>([
    ['is missing', path => rename(path, `${path}.away`)],
    ['is damaged', path => writeFile(path, '')],
    ['is not the key of this data directory', path => writeFile(path, OTHER_KEY)],
  ])('that %s is replaced once it is said what is lost', async (problem, lose) => {
    await withData(async ({ dataDir, cid, peer }) => {
      expect(await seenIn(dataDir, cid)).toEqual({ needsCode: true, status: 200, peer })
      await lose(join(dataDir, 'data.key'))
      await expect(createEngine({ ...START, dataDir: newDirectory(dataDir) })).rejects.toThrow(/data-key replace/)
      expect(secretsIn(dataDir)).toBe(2)
      const lost = { problem, secondFactors: [EMAIL], webhooks: [HOOK], privateKeys: ['self'] }
      expect(await replaceDataKey(dataDir)).toEqual({ ...lost, replaced: false })
      await expect(createEngine({ ...START, dataDir: newDirectory(dataDir) })).rejects.toThrow(/data-key replace/)
      expect(await replaceDataKey(dataDir, { forgetSecrets: true })).toEqual({ ...lost, replaced: true })
      expect(secretsIn(dataDir)).toBe(0)
      const seen = await seenIn(dataDir, cid)
      expect(seen).toEqual({ needsCode: false, status: 200, peer: expect.any(String) })
      expect(seen.peer).not.toBe(peer)
      expect((await seenIn(dataDir, cid)).peer).toBe(seen.peer)
      const aside = await readdir(join(dataDir, 'quarantine')).catch(() => [])
      expect(aside.filter(name => name.startsWith('data.key-'))).toHaveLength(problem === 'is missing' ? 0 : 1)
      await expect(replaceDataKey(dataDir, { forgetSecrets: true })).rejects.toMatchObject({ code: 'CONFLICT' })
    })
  })

  test('is replaced by command, unless it is valid', async () => {
    await withData(async ({ dataDir, cid, peer }) => {
      const replace = (...flags: string[]) => runHoldfast(['data-key', 'replace', '--data-dir', dataDir, ...flags])
      const path = join(dataDir, 'data.key')
      const key = await readFile(path)
      expect(await replace('--forget-secrets')).toMatchObject({ code: 1, stderr: expect.stringContaining('is valid') })
      expect(await readFile(path)).toEqual(key)
      await rename(path, `${path}.away`)
      const told = await replace()
      expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was changed') })
      expect(told.stdout).toContain(`second factors: ${EMAIL}\n  webhooks: ${HOOK}\n  private keys of the node: self\n`)
      await rename(`${path}.away`, path)
      expect(await seenIn(dataDir, cid)).toEqual({ needsCode: true, status: 200, peer })
      await rename(path, `${path}.away`)
      expect((await replace('--forget-secrets')).code).toBe(0)
      expect(await seenIn(dataDir, cid)).toMatchObject({ needsCode: false, status: 200 })
    })
  })
})
