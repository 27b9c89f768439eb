import { describe, expect, test } from 'vitest'
import { createEngine, type EngineOptions } from '../../src/index.ts'
import { withTempDir } from '../support/temp-dir.ts'

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

  test('takes clusters and plans with only the required fields', async () => {
    await withTempDir(async dataDir => {
      const plans = { team: { timelock: true, clusters: ['near'] } }
      await using engine = await createEngine({ dataDir, clusters: [{ id: 'near' }], defaultCluster: 'near', plans })
      expect((await engine.clusters.list()).map(({ id, label }) => ({ id, label }))).toEqual([
        { id: 'near', label: 'near' },
      ])
      expect((await engine.accounts.create({ email: 'a@example.org', plan: 'team' })).plan).toBe('team')
    })
  })
})
