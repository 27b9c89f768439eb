import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { createEngine } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { callApi } from '../support/api-call.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { failure, openAccess } from './support.ts'

const PASSWORD = 'a password to remember'
const SECRET = Buffer.from('a secret in clear 20')

test('a secret is stored encrypted, and only its own account decrypts it', async () => {
  const access = openAccess()
  try {
    const [one, other] = await Promise.all(
      ['one', 'other'].map(name => access.accounts.create({ email: `${name}@example.org`, plan: 'free' })),
    )
    if (one === undefined || other === undefined) throw new Error('no accounts')
    const { secret } = await access.secondFactor.begin(one)
    const stored = await access.store.secondFactors.get(one.id)
    expect(stored?.secret.byteLength).toBe(49)
    expect(Buffer.from(stored?.secret ?? []).toString('latin1')).not.toContain(secret)
    await access.store.secondFactors.begin(other.id, stored?.secret ?? new Uint8Array())
    expect((await failure(() => access.secondFactor.enable(other.id, '123456'))).code).toBe('DATA_DIR_UNUSABLE')
    expect((await failure(() => access.secondFactor.enable(one.id, '123456'))).code).toBe('2fa_invalid')
  } finally {
    access.close()
  }
})

test('the next start encrypts secrets in clear, and leaves no trace', () =>
  withTempDir(async dataDir => {
    const clock = new ManualClock()
    const start = () => createEngine({ dataDir: newDirectory(dataDir), clock, passwordCost: 1_024 })
    const file = join(dataDir, 'holdfast.db')
    let engine = await start()
    const email = 'someone@example.org'
    const { id } = await engine.accounts.create({ email, plan: 'free', password: PASSWORD })
    await engine.stop()
    const db = new Database(file)
    db.prepare(`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO accounts (id, email, plan, role, created_at) SELECT 'a' || i, 'a' || i, 'free', 'user', i FROM n`).run()
    const insert = 'INSERT INTO second_factors (account_id, secret, enabled_at, last_step) SELECT id, ?, 1, -1'
    db.prepare<[Uint8Array]>(`${insert} FROM accounts ORDER BY rowid`).run(SECRET)
    db.close()
    expect((await readFile(file)).includes(SECRET)).toBe(true)

    engine = await start()
    const first = await callApi(engine, 'POST', '/auth/login', { body: JSON.stringify({ email, password: PASSWORD }) })
    const { temporaryToken } = first.json
    const body = JSON.stringify({ temporaryToken, code: totpCode(SECRET, totpStep(clock.now())) })
    expect((await callApi(engine, 'POST', '/auth/2fa/verify-login', { body })).json.user.id).toBe(id)
    await engine.stop()
    expect((await readFile(file)).includes(SECRET)).toBe(false)
  }))
