import assert from 'node:assert/strict'
import { type Audit, assertError, auditPlans, BASE, expectStatus, json } from './world.ts'

/** Plans, preferences and other offers, including those that this node does not have. */
export const offerAudits: readonly Audit[] = [
  {
    id: 'offers.plans',
    name: 'MUST list the configured plans without credentials, as an array',
    async run({ client }) {
      for (const path of [`${BASE}/plans`, `${BASE}/plans/`]) {
        const { json: plans } = await expectStatus(client.request('GET', path), 200)
        const names = plans.map((plan: { id: string }) => plan.id)
        for (const name of ['free', 'premium', 'unlimited', ...Object.keys(auditPlans)]) assert.ok(names.includes(name))
        const small = plans[names.indexOf('audit-small')]
        assert.deepEqual(small, {
          id: 'audit-small',
          name: 'audit-small',
          maxKeys: 100,
          maxQueuedPins: 1_000,
          maxEgressBytes: null,
          serverImport: true,
          ...auditPlans['audit-small'],
        })
      }
    },
  },
  {
    id: 'offers.own-plan',
    name: "MUST return an account's plan and usage to a credential of any scope",
    async run({ client, actor }) {
      const account = await actor('audit-small')
      const auth = { 'x-api-key': await account.key({ name: 'bare', scopes: ['cluster:read'] }) }
      const own = await expectStatus(client.request('GET', `${BASE}/plans/my-plan`, { headers: auth }), 200)
      assert.equal(own.json.id, 'audit-small')
      assert.equal(own.json.maxFileBytes, auditPlans['audit-small'].maxFileBytes)
      assert.deepEqual(own.json.usage, { pins: 0, storedBytes: 0, keptBytes: 0 })
      const { json: plans } = await expectStatus(
        client.request('GET', `${BASE}/users/me/plans`, { headers: auth }),
        200,
      )
      assert.deepEqual(
        plans.map((plan: { id: string }) => plan.id),
        ['audit-small'],
      )
      assertError(await client.request('GET', `${BASE}/plans/my-plan`), 401, 'INVALID_API_KEY')
      assertError(await client.request('GET', `${BASE}/users/me/plans`), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'offers.refusals',
    name: 'MUST refuse changes of plan and preferences with 403, payments with 404',
    async run({ client, actor }) {
      const account = await actor()
      const change = json({ planId: 'premium' })
      assertError(await account.request('PUT', `${BASE}/plans/change`, change), 403, 'NOT_OFFERED', 'plan')
      assert.equal((await account.request('GET', `${BASE}/users/me`)).json.plan, 'unlimited')
      assertError(await client.request('PUT', `${BASE}/plans/change`, change), 401, 'INVALID_API_KEY')
      const wishes = json({ language: 'es', country: 'ES' })
      assertError(await account.request('PUT', `${BASE}/users/me/preferences`, wishes), 403, 'NOT_OFFERED')
      for (const [method, path] of [
        ['POST', '/payments/multisafepay/create'],
        ['POST', '/payments/coingate/create'],
        ['GET', '/payments/coingate/status/17'],
        ['DELETE', '/payments/multisafepay/cancel/17'],
      ] as const) {
        assertError(await account.request(method, BASE + path), 404, 'NOT_FOUND', 'payments')
        assertError(await client.request(method, BASE + path), 404, 'NOT_FOUND', 'payments')
      }
    },
  },
  {
    id: 'offers.empty',
    name: 'SHOULD answer features it lacks with empty results of the expected shape',
    async run({ client, actor }) {
      const account = await actor()
      const own = async (path: string): Promise<unknown> =>
        (await expectStatus(account.request('GET', BASE + path), 200)).json
      assert.deepEqual(await own('/users/me/preferences'), { language: null, country: null })
      assert.deepEqual(await own('/users/me/referrals'), { referralCode: null, referrals: [], total: 0 })
      const open = async (path: string): Promise<unknown> =>
        (await expectStatus(client.request('GET', BASE + path), 200)).json
      assert.deepEqual(await open('/locales/languages'), [{ code: 'en', name: 'English' }])
      assert.deepEqual(await open('/locales/countries'), [])
      for (const path of ['/users/me/preferences', '/users/me/referrals']) {
        assertError(await client.request('GET', BASE + path), 401, 'INVALID_API_KEY')
      }
    },
  },
]
