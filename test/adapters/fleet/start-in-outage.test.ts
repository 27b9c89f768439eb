import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DatabaseProxy, openProxy } from '../../support/database-proxy.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const PATIENCE = { timeout: 120_000 }
const ABSENT = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'

describe('a node that starts in an outage of its database', { timeout: 600_000, ...needsPostgres }, () => {
  let server: SharedPostgres
  let proxy: DatabaseProxy
  let a: NodeProcess
  let close: () => Promise<void>
  beforeAll(async () => {
    server = await sharedPostgres()
    proxy = await openProxy(await server.migrated())
    const opened = await openNodeProcesses(proxy.url, { network: { enabled: false } })
    a = opened.a
    close = opened.close
    a.drainSeconds = 0
  }, 300_000)
  afterAll(async () => {
    await close?.()
    await proxy?.stop()
    await server?.stop()
  })

  const upload = async (text: string, visibility: string): Promise<string> => {
    const form = new FormData()
    form.set('visibility', visibility)
    form.set('file', new Blob([text]))
    const { status, json } = await a.call<{ cid: string }>('POST', '/api/v3/files', form, { 'x-cluster': 'first' })
    expect(status).toBe(201)
    return json.cid
  }
  const get = async (url: string): Promise<[number, string]> => {
    const answer = await fetch(url, { headers: { 'x-api-key': 'none' } }).catch(() => null)
    return answer === null ? [0, ''] : [answer.status, await answer.text()]
  }
  const read = (cid: string) => get(`${a.gateway}/ipfs/${cid}`)
  const outage = () => proxy.inject({ at: 0, when: 'before', what: 'outage' })
  const stop = async () => {
    await a.server.stop()
  }
  /** Starts the node in the outage, expects that it ends without serving anything, and starts it after the outage. */
  const expectNothingServed = async () => {
    let hasEnded = false
    const starting = a.start().finally(() => {
      hasEnded = true
    })
    const serves = async () => {
      while (!hasEnded && (await get(`${a.gateway}/ready`))[0] === 0) await sleep(100)
    }
    try {
      await expect(Promise.race([starting, serves()])).rejects.toThrow('cannot be reached')
    } finally {
      proxy.recover()
      await starting.catch(() => a.start())
    }
  }

  test('serves public content by its last confirmed change, then all', async () => {
    const [open, hidden, taken] = [
      await upload('public', 'public'),
      await upload('private', 'private'),
      await upload('taken down', 'public'),
    ]
    await expect
      .poll(async () => (await a.call('POST', '/admin/v1/takedowns', { cid: taken, reason: 'x' })).status, PATIENCE)
      .toBe(201)
    await outage()
    await stop()
    const starting = a.start()
    await expect.poll(() => read(open), PATIENCE).toEqual([200, 'public'])
    const refused = [503, expect.stringMatching(/"message":"the catalogue database cannot be reached"/)]
    for (const cid of [hidden, ABSENT]) expect(await read(cid)).toEqual(refused)
    expect((await read(taken))[0]).toBe(410)
    expect((await get(`${a.gateway}/ready`))[0]).toBe(200)
    for (const path of ['/ready', '/api/v3/files', `/ipfs/${open}`]) expect((await get(a.url + path))[0]).toBe(503)
    proxy.recover()
    await starting
    expect((await Promise.all([open, hidden, taken].map(read))).map(([status]) => status)).toEqual([200, 404, 410])
    await upload('after the outage', 'public')
  })

  test('serves nothing after a stop that the database knows', async () => {
    await stop()
    await outage()
    await expectNothingServed()
  })

  test('serves nothing from a copy of its ledger', async () => {
    await outage()
    await stop()
    const file = join(a.dataDir, 'holdfast.db')
    await copyFile(file, `${file}.copy`)
    await rename(`${file}.copy`, file)
    await expectNothingServed()
  })
})
