import { describe, expect, test } from 'vitest'
import * as given from '../../src/config/option-names.ts'
import { createEngine, type Engine, type EngineOptions } from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

describe('createEngine', () => {
  test.each([
    [{ loger: console }, 'options: unknown key loger, did you mean logger?'],
    [{ netwrok: {} }, 'options: unknown key netwrok, did you mean network?'],
    [{ network: { enabeld: true } }, 'options: network: unknown key enabeld, did you mean enabled?'],
    [{ unheardOf: 1 }, 'options: unknown key unheardOf'],
  ])('refuses %j with the nearest name', async (given, message) => {
    const options = { dataDir: '/nonexistent', ...given } as EngineOptions
    await expect(createEngine(options)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message })
  })

  test.each([
    [{ singleUser: 'false' }, 'options: singleUser must be true or false'],
    [{ memoryBytes: '512MB' }, 'options: memoryBytes must be a number of bytes above 0'],
    [{ memoryBytes: 0 }, 'options: memoryBytes must be a number of bytes above 0'],
    [{ threadPoolSize: '8' }, 'options: threadPoolSize must be an integer above 0'],
    [{ logger: null }, 'options: logger must have the methods debug, info, warn and error'],
    [{ clock: {} }, 'options: clock must have the methods now and after'],
    [{ backends: null }, 'options: backends must be an object of backends'],
  ])('refuses an option of a wrong type by name: %j', async (given, message) => {
    const options = { dataDir: '/nonexistent', ...given } as unknown as EngineOptions
    await expect(createEngine(options)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message })
  })

  test('takes clusters and plans with only the required fields', async () => {
    await withTempDir(async dataDir => {
      const plans = { team: { timelock: true, clusters: ['near'] } }
      await using engine = await createEngine({
        dataDir: newDirectory(dataDir),
        clusters: [{ id: 'near' }],
        defaultCluster: 'near',
        plans,
      })
      expect((await engine.clusters.list()).map(({ id, label }) => ({ id, label }))).toEqual([
        { id: 'near', label: 'near' },
      ])
      expect((await engine.accounts.create({ email: 'a@example.org', plan: 'team' })).plan).toBe('team')
    })
  })
})

/** Services of an engine by name, with the fields that their methods take. */
const SERVICES = {
  pins: given.PIN_CALLS,
  content: given.CONTENT_CALLS,
  clusters: given.CLUSTER_CALLS,
  accounts: given.ACCOUNT_CALLS,
  keys: given.KEY_CALLS,
  takedowns: given.TAKEDOWN_CALLS,
  events: given.EVENT_CALLS,
} as const
const CALLS = [...Object.entries(SERVICES), ['', given.UPKEEP_CALLS] as const].flatMap(([service, calls]) =>
  Object.entries<string>(calls).map(([call, names]) => {
    const [method = '', at] = call.split('.')
    return { service, method, at: Number(at), fields: names.split(' ') }
  }),
)

/** Calls a method with one argument at a position, and returns its error. */
async function errorOf(engine: Engine, { service, method, at }: (typeof CALLS)[number], argument: object) {
  const target: object = service === '' ? engine : Reflect.get(engine, service)
  const args = [...Array.from({ length: at }, () => 'x'), argument]
  try {
    await Reflect.apply(Reflect.get(target, method), target, args)
    return null
  } catch (error) {
    return error
  }
}

describe('the options of each method', () => {
  test('refuse an unknown key, naming the nearest one', async () => {
    await withEngine(async ({ engine }) => {
      expect(CALLS.length).toBeGreaterThan(30)
      for (const call of CALLS) {
        const [field = ''] = call.fields
        const error = await errorOf(engine, call, { [`${field}q`]: undefined })
        const message = new RegExp(`^${call.method}: unknown key ${field}q(, did you mean \\w+\\?)?$`)
        expect(error, call.method).toMatchObject({ code: 'VALIDATION', message: expect.stringMatching(message) })
        if (field.length > 3) expect(error).toMatchObject({ message: expect.stringContaining('did you mean') })
      }
      const read = engine.content.read({ cid: 'x', range: { strat: 1 } as object })
      const nested = { code: 'VALIDATION', message: 'read: range: unknown key strat, did you mean start?' }
      await expect(read).rejects.toMatchObject(nested)
    })
  })
})
