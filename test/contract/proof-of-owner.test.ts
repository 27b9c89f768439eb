import { expect, test } from 'vitest'
import { createEngine, SCOPES } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { hosts } from './hosts.ts'

const PASSWORD = 'a password of the owner'

test.each(hosts.map(host => ({ host, name: host.name })))('asks a kept owner for a proof, $name', ({ host }) =>
  withTempDir(async dataDir => {
    const clock = new ManualClock(Date.UTC(2030, 0, 1))
    const engine = await createEngine({ dataDir: newDirectory(dataDir), clock, passwordCost: 1_024 })
    const { client, close } = await host.serve(engine)
    const ask = async (token: string | null, path: string, body: object = {}) => {
      const headers: Record<string, string> = { 'content-type': 'application/json' }
      if (token !== null) headers.authorization = `Bearer ${token}`
      const { status, json } = await client.request('POST', path, { headers, body: JSON.stringify(body) })
      return { status, json }
    }
    try {
      const email = 'boss@example.org'
      const owner = await engine.accounts.create({ email, plan: 'premium', role: 'owner', password: PASSWORD })
      const { secret: key } = await engine.keys.create(owner.id, { name: 'all', scopes: SCOPES })
      const user = await engine.accounts.create({ email: 'user@example.org', plan: 'free' })
      const kept = [
        (await ask(key, '/api/v3/tokens/console')).json.token,
        (await ask(null, '/api/v3/auth/login', { email, password: PASSWORD, keep: true })).json.token,
      ]
      clock.advance(16 * 60_000)
      const make = (token: string, i: string) => [
        () => ask(token, '/admin/v1/accounts', { email: `${i}@example.org`, plan: 'free' }),
        () => ask(token, `/admin/v1/accounts/${user.id}/password-link`),
      ]
      for (const [i, token] of kept.entries()) {
        for (const asked of make(token, `kept${i}`)) {
          expect(await asked()).toMatchObject({
            status: 403,
            json: { code: 'proof_required', proof: ['key', 'password'][i] },
          })
        }
        const proof = i === 0 ? { key } : { password: PASSWORD }
        expect((await ask(token, '/api/v3/auth/proof', proof)).status).toBe(200)
        for (const asked of make(token, `kept${i}`)) expect((await asked()).status).toBe(201)
      }
      // A link for an owner still needs a session, whatever the proof.
      const link = `/admin/v1/accounts/${owner.id}/password-link`
      expect(await ask(kept[0], link)).toMatchObject({ status: 403, json: { code: 'SESSION_REQUIRED' } })
      expect((await ask(kept[1], link)).status).toBe(201)
      // A key is never asked, nor the engine in the process.
      clock.advance(16 * 60_000)
      for (const asked of make(key, 'key')) expect((await asked()).status).toBe(201)
      await engine.accounts.create({ email: 'embedded@example.org', plan: 'free' })
      // feature: audit
      const audit = await client.request('GET', '/admin/v1/audit', { headers: { authorization: `Bearer ${key}` } })
      const actions = audit.json.entries.map(({ action, outcome }: Record<string, string>) => `${action} ${outcome}`)
      expect(actions.filter((action: string) => action === 'sign-in.proof ok')).toHaveLength(2)
      expect(actions.filter((action: string) => action.endsWith('proof_required'))).toHaveLength(4)
      // end
      // A clock that was set back makes no proof last longer.
      const [token] = kept
      expect((await ask(token, '/api/v3/auth/proof', { key })).status).toBe(200)
      clock.advance(-16 * 60_000)
      for (const asked of make(token, 'back')) {
        expect(await asked()).toMatchObject({ status: 403, json: { code: 'proof_required' } })
      }
    } finally {
      await close()
      await engine.stop()
    }
  }),
)
