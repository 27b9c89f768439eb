import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../adapters/postgres/index.ts'
import { connectAccounts, createEngine } from '../../../src/index.ts'
import { factsOf, fillDirectory, signIn } from '../../support/filled-directory.ts'
import { blocksOf, patternOf } from '../../support/guide.ts'
import { newDirectory } from '../../support/new-database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const PAGE = join(import.meta.dirname, '../../../docs/reference/command-line.md')

/** Returns the output of a move that the reference shows. */
function shownOutput(): string {
  const blocks = blocksOf(PAGE)
  const place = blocks.findIndex(({ text }) => text.startsWith('holdfast catalogue move'))
  return blocks[place + 1]?.text ?? ''
}

describe('commands on a catalogue in PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('a catalogue moves, and its accounts and keys change in PostgreSQL', async () => {
    await withTempDir(async directory => {
      const dataDir = join(directory, 'data')
      const filled = await fillDirectory({ dataDir })
      const database = await server.fresh()
      const config = join(directory, 'config.json')
      await writeFile(config, JSON.stringify({ database }))
      const run = async (...args: string[]) => runHoldfast(args, { HOLDFAST_DATA_DIR: dataDir })
      expect(await run('catalogue', 'move')).toMatchObject({ code: 2, stderr: expect.stringContaining('--to') })
      const moved = await run('catalogue', 'move', '--config', config)
      expect(moved).toMatchObject({
        code: 0,
        stderr: '',
        stdout: expect.stringMatching(/^copied: accounts \d, api_keys/),
      })
      expect(moved.stdout.trim()).toMatch(patternOf(shownOutput()))
      const again = await run('catalogue', 'move', '--to', database, '--json')
      expect(JSON.parse(again.stdout)).toMatchObject({ copied: null, removed: 0 })
      // The configuration names the database.
      expect(await run('account', 'list')).toMatchObject({ code: 2, stdout: '' })
      const engine = await createEngine({
        catalogue: postgres,
        dataDir: newDirectory(dataDir),
        database,
        clock: filled.clock,
        passwordCost: 1_024,
      })
      const made = await run('account', 'create', '--email', 'new@example.org', '--plan', 'free', '--config', config)
      expect(made).toMatchObject({ code: 0, stderr: '' })
      expect((await engine.accounts.find('new@example.org'))?.plan).toBe('free')
      const off = await run('account', 'disable-2fa', '--email', 'one@example.org', '--config', config)
      expect(JSON.parse(off.stdout)).toMatchObject({ disabled: true })
      const key = ['--account', 'two@example.org', '--name', 'all', '--config', config]
      expect(await run('key', 'revoke', ...key)).toMatchObject({ code: 0 })
      expect((await engine.keys.list(filled.accounts[1] ?? '')).map(({ name }) => name)).toEqual([])
      await engine.stop()
      const other = await server.fresh()
      await expect(
        connectAccounts({ catalogue: postgres, dataDir, config: { database: other } }),
      ).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      })
    })
  })

  test('a lost key is replaced, and the secrets that it sealed dropped', async () => {
    await withTempDir(async dataDir => {
      const filled = await fillDirectory({ dataDir })
      const database = await server.fresh()
      const config = join(dataDir, 'config.json')
      await writeFile(config, JSON.stringify({ database }))
      const run = async (...args: string[]) => runHoldfast(args, { HOLDFAST_DATA_DIR: dataDir })
      await run('catalogue', 'move', '--config', config)
      await rm(join(dataDir, 'data.key'))
      expect(await run('data-key', 'replace', '--forget-secrets')).toMatchObject({ code: 2 })
      const lost = await run('data-key', 'replace', '--config', config, '--json')
      const sealed = { secondFactors: ['One@Example.org'], webhooks: ['http://127.0.0.1:9/told'] }
      expect([lost.code, JSON.parse(lost.stdout)]).toEqual([1, expect.objectContaining({ ...sealed, replaced: false })])
      expect(await run('data-key', 'replace', '--forget-secrets', '--config', config)).toMatchObject({ code: 0 })
      const engine = await createEngine({
        catalogue: postgres,
        dataDir: newDirectory(dataDir),
        database,
        clock: filled.clock,
        passwordCost: 1_024,
      })
      expect(await factsOf(engine, filled)).toMatchObject({ webhooks: { webhooks: [] }, mine: [200, 200, 401, 401] })
      // The second factor is gone.
      expect((await signIn(engine, filled)).at(-1)).toBe(200)
      await engine.stop()
    })
  })
})
