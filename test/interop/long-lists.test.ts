import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { filledStore } from '../../bench/list/filled-engine.ts'
import { needs } from '../support/needs.ts'
import { type ServedEngine, serveEngine } from '../support/served-engine.ts'
import { runHoldfast, temporaryDirectory } from '../support/server-process.ts'
import { findKubo, withKubo } from './kubo.ts'

/** More than the matches that a search counts exactly, and no multiple of a page. */
const RECORDS = 10_137
const NAME = 'alike'
/** Number of records that were created in the same millisecond. */
const TIED = 7

const kubo = findKubo()

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine
let secret: string

beforeAll(async () => {
  directory = temporaryDirectory()
  const dataDir = join(directory.path, 'data')
  const { engine, account } = await filledStore(dataDir, RECORDS, 1)
  secret = (await engine.keys.create(account, { name: 'lists' })).secret
  await engine.stop()
  const db = new BetterSqlite3(join(dataDir, 'holdfast.db'))
  // The filled store has its first record too late: clients page by time.
  db.prepare("UPDATE records SET created_at = 0 WHERE type = 'directory'").run()
  db.prepare('UPDATE records SET name = ?, created_at = created_at / ? * ?').run(NAME, TIED, TIED)
  db.close()
  // The pinning API needs a node that others can reach.
  served = await serveEngine(dataDir, { network: { enabled: true } })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

describe('more than 10,000 matches are listed to the last', () => {
  test('by the command line', async () => {
    const env = { ...served.env, HOLDFAST_API_KEY: secret }
    const { code, stdout } = await runHoldfast(['ls', '--name', NAME, '--json'], env)
    const ids = stdout
      .split('\n')
      .flatMap(line => (line === '' ? [] : [(JSON.parse(line) as { uploadId: string }).uploadId]))
    expect([code, ids.length, new Set(ids).size]).toEqual([0, RECORDS, RECORDS])
  })

  test(
    'by Kubo',
    {
      timeout: 240_000,
      ...needs(kubo !== null, 'there is no "ipfs" on PATH, and HOLDFAST_TEST_IPFS names none'),
    },
    () =>
      withKubo(kubo ?? '', async other => {
        await other.run('pin', 'remote', 'service', 'add', 'ours', `${served.url}/psa`, secret)
        const cids = (await other.run('pin', 'remote', 'ls', '--service=ours', `--name=${NAME}`)).split('\n')
        expect([cids.length, new Set(cids).size]).toEqual([RECORDS, RECORDS])
      }),
  )
})
