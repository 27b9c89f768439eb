import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Account, type Principal, SCOPES } from '../../../src/access/principal.ts'
import { type Access, failure, openAccess } from '../support.ts'

let access: Access
let account: Account

beforeEach(async () => {
  access = openAccess()
  account = await access.accounts.create({ email: 'anna.mueller@example.org', plan: 'premium' })
})
afterEach(() => access.close())

function session(): Principal {
  const credential = { kind: 'session', id: 's', name: null, scopes: SCOPES, expiresAt: null } as const
  return { account, plan: access.plans.get(account.plan), credential }
}

describe('an upload token none of whose uploads would be allowed', () => {
  const timelock = '2030-02-01T00:00:00Z'

  test.each([
    ['an unknown cluster', 'premium', { cluster: 'nix' }, 'CLUSTER_NOT_ALLOWED'],
    ['a cluster beyond the plan', 'free', { cluster: 'cl1-eu' }, 'CLUSTER_NOT_ALLOWED'],
    ['a timelock beyond the plan', 'free', { timelock }, 'TIMELOCK_NOT_ALLOWED'],
    ['a timelock in 200 years', 'premium', { timelock: '2230-02-01T00:00:00Z' }, 'INVALID_TIMELOCK'],
  ])('is refused for %s', async (_, plan, wish, code) => {
    account = await access.accounts.setPlan(account.id, plan)
    const input = { maxUses: 3, ...wish }
    expect(await failure(() => access.keys.create(account.id, input))).toMatchObject({ code })
    expect(await failure(() => access.keys.generate(session(), input))).toMatchObject({ code })
    expect(await access.keys.list(account.id, { isUpload: true })).toEqual([])
  })

  test('is made for what the plan allows', async () => {
    const { key } = await access.keys.create(account.id, { maxUses: 3, cluster: 'cl2-de', timelock })
    expect(key.upload).toMatchObject({ cluster: 'cl2-de', timelock: Date.parse(timelock) })
  })
})
