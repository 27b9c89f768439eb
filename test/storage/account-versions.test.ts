import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Database } from '../../src/storage/database.ts'
import { withEngine } from '../support/test-engine.ts'

const COPY = `INSERT INTO records SELECT * FROM copied`

test('each change raises the version of its account, and of no other', () =>
  withEngine(async ({ engine, account, newAccount, dataDir }) => {
    const other = await newAccount()
    await engine.pins.upload([Buffer.from('one')], { account })
    await engine.pins.upload([Buffer.from('two')], { account: other })
    await engine.stop()
    const file = join(dataDir, 'holdfast.db')
    const db = new Database(file)
    const run = (sql: string) => db.prepare(sql).run()
    const own = `account_id = '${account}'`
    run(`CREATE TEMP TABLE copied AS SELECT * FROM records WHERE ${own}`)
    run(`UPDATE copied SET id = 'another', search_id = search_id + 1000`)
    const versions = () => [db.versionOf(account), db.versionOf(other)]
    try {
      for (const statement of [
        `UPDATE records SET name = 'two' WHERE ${own}`,
        `UPDATE records SET status = 'failed' WHERE ${own}`,
        `UPDATE accounts SET plan = 'few' WHERE id = '${account}'`,
        `UPDATE roots SET announced_at = 1 WHERE id = (SELECT root_id FROM records WHERE ${own})`,
        COPY,
        `DELETE FROM records WHERE id = 'another'`,
      ]) {
        const [before, others] = versions()
        run(statement)
        expect(db.versionOf(account), statement).not.toBe(before)
        expect(db.versionOf(other), statement).toBe(others)
      }
      // The records of a root that many pin are not read.
      for (let copies = 0; copies < 70; copies++) {
        run(`UPDATE copied SET id = 'copy ${copies}', search_id = search_id + 1`)
        run(COPY)
      }
      const announced = versions()
      run(`UPDATE roots SET announced_at = 2 WHERE id = (SELECT root_id FROM records WHERE ${own})`)
      expect(versions().every((version, i) => version !== announced[i])).toBe(true)
      const another = new Database(file)
      const seen = db.dataVersion()
      another.prepare(`UPDATE records SET name = 'three' WHERE ${own}`).run()
      another.close()
      expect(db.dataVersion()).not.toBe(seen)
    } finally {
      db.close()
    }
  }))
