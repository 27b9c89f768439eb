import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentAudits, openSettledWorld } from '../../clusters/settled-world.ts'
import { TOKEN } from '../../support/kubo.ts'
import { onRealKubo, pinsOf, withRealKubo } from './kubo-under-test.ts'

describe('the contract with all clusters on a real Kubo', onRealKubo, () => {
  let world: Awaited<ReturnType<typeof openSettledWorld>>
  let api = ''
  let end: () => void = () => undefined
  let ended: Promise<void> = Promise.resolve()

  beforeAll(async () => {
    const started = Promise.withResolvers<string>()
    const over = Promise.withResolvers<void>()
    end = over.resolve
    ended = withRealKubo(async ({ api }) => {
      started.resolve(api)
      await over.promise
    })
    ended.catch(started.reject)
    api = await started.promise
    const backend = { type: 'kubo' as const, api, authEnv: 'KUBO_AUTH' }
    world = await openSettledWorld(backend, { environment: { KUBO_AUTH: `bearer:${TOKEN}` } })
  })

  afterAll(async () => {
    await world.close()
    end()
    await ended
  })

  for (const audit of contentAudits) test(`${audit.id}: ${audit.name}`, () => audit.run(world))

  test('the Kubo has the content', async () => {
    expect(Object.values(await pinsOf(api)).filter(name => name.startsWith('holdfast:')).length).toBeGreaterThan(20)
  })
})
