import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ApiRequest, ApiResponse, Engine } from '../../src/index.ts'
import { fileForm } from '../contract/world.ts'
import { eventually } from '../support/content-parts.ts'
import { withEngine } from '../support/test-engine.ts'

/** An upload that sends its body only after `open`. `invited` is true once the engine requests the body. */
function heldUpload(engine: Engine, secret: string, path = '/api/v3/files') {
  const { headers, body } = fileForm('content')
  const { promise: through, resolve: open } = Promise.withResolvers<void>()
  const upload = { invited: false, open, response: null as ApiResponse | null, answered: Promise.resolve() }
  const all: Record<string, string> = { ...headers, 'x-api-key': secret }
  const request: ApiRequest = {
    ...{ method: 'POST', path, query: '', remoteAddress: '127.0.0.1', signal: new AbortController().signal },
    header: name => all[name],
    body: (async function* () {
      upload.invited = true
      await through
      yield body
    })(),
  }
  upload.answered = engine.api(request).then(response => {
    upload.response = response
  })
  return upload
}

test('excess uploads of one account wait, then get 503', async () => {
  await withEngine(
    async ({ engine, account, newAccount, clock }) => {
      const keyOf = async (id: string) => (await engine.keys.create(id, { name: 'k', scopes: ['files:write'] })).secret
      const [mine, other] = [await keyOf(account), await keyOf(await newAccount())]
      const first = [heldUpload(engine, mine), heldUpload(engine, mine)]
      await eventually(() => first.every(({ invited }) => invited))
      const late = heldUpload(engine, mine, '/api/v3/files/directory-dag')
      const foreign = heldUpload(engine, other)
      await eventually(() => foreign.invited)
      for (let i = 0; i < 50; i++) await turn()
      expect([late.invited, late.response]).toEqual([false, null])
      clock.advance(15_000)
      await late.answered
      expect([late.response?.status, late.response?.headers['retry-after'], late.invited]).toEqual([503, '1', false])

      const next = heldUpload(engine, mine)
      for (const upload of [...first, foreign, next]) upload.open()
      await Promise.all([...first, foreign, next].map(({ answered }) => answered))
      expect([...first, foreign, next].map(({ response }) => response?.status).sort()).toEqual([200, 200, 201, 201])
    },
    { uploads: { maxPerAccount: 2, maxConcurrent: 3 } },
  )
})

test('a slow upload loses its slot to another account', async () => {
  await withEngine(
    async ({ engine, account, newAccount, clock }) => {
      const keyOf = async (id: string) => (await engine.keys.create(id, { name: 'k', scopes: ['files:write'] })).secret
      const [mine, other] = [await keyOf(account), await keyOf(await newAccount())]
      const slow = [heldUpload(engine, mine), heldUpload(engine, mine)]
      await eventually(() => slow.every(({ invited }) => invited))
      const foreign = heldUpload(engine, other)
      clock.advance(11_000)
      await eventually(() => foreign.invited)
      await slow[0]?.answered
      expect(slow.map(({ response }) => response?.status)).toEqual([503, undefined])
      foreign.open()
      slow[1]?.open()
      await Promise.all([foreign.answered, slow[1]?.answered])
      expect([foreign.response?.status, slow[1]?.response?.status]).toEqual([201, 201])
      expect((await engine.pins.list({ account })).total).toBe(1)
    },
    { uploads: { maxConcurrent: 2 } },
  )
})
