import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../adapters/client/index.ts'
import { collect } from '../support/bytes.ts'
import { withEngine } from '../support/test-engine.ts'
import { keep } from './kept-content.ts'
import { CANARY } from './matrix.ts'
import { withPorts } from './ports.ts'

describe('a key with files:read', () => {
  test('may be sent by a page of another origin', async () => {
    await withEngine(async ({ engine }) => {
      await withPorts(engine, async (api, gateway) => {
        const allowed = async (base: string) => {
          const asked = { origin: 'https://app.test', 'access-control-request-headers': 'authorization' }
          const answer = await fetch(`${base}/ipfs/bafkqaaa`, { method: 'OPTIONS', headers: asked })
          return (answer.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ')
        }
        expect(await allowed(api)).toEqual(expect.arrayContaining(['authorization', 'x-api-key', 'range']))
        expect(await allowed(gateway)).not.toContain('authorization')
      })
    })
  })

  test('reads private content of its account on the port of the API', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const { contents, shared } = await keep(engine, account)
      const keyOf = async (of: string, ...scopes: string[]) =>
        (await engine.keys.create(of, { name: scopes.join(), scopes })).secret
      const key = await keyOf(account, 'files:read')
      const others = [await keyOf(account, 'files:write'), await keyOf(await newAccount(), 'files:read'), 'hf_unknown']
      await withPorts(engine, async (api, gateway) => {
        const get = (base: string, path: string, headers: Record<string, string> = {}) =>
          fetch(`${base}/ipfs/${path}`, { headers })
        for (const [name, cid] of Object.entries(contents)) {
          for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
            const answer = await get(api, `${cid}?format=car`, headers as Record<string, string>)
            expect([name, answer.status]).toEqual([name, 200])
            expect(answer.headers.get('cache-control')).toBe('no-store')
            expect(answer.headers.get('vary')).toBe('Authorization, X-API-Key')
            expect(Buffer.from(await answer.arrayBuffer()).includes(CANARY)).toBe(true)
            // The gateway's port knows no credentials.
            expect((await get(gateway, cid, headers as Record<string, string>)).status).toBe(404)
          }
          for (const other of others) {
            const answer = await get(api, cid, { authorization: `Bearer ${other}` })
            expect([name, answer.status]).toEqual([name, 404])
          }
        }
        // Public content is the same for everybody.
        const plain = await get(api, shared)
        const given = await get(api, shared, { authorization: `Bearer ${others[2]}` })
        expect(given.headers.get('cache-control')).toBe(plain.headers.get('cache-control'))
        const folder = contents['a folder']
        const headers = { authorization: `Bearer ${key}`, range: 'bytes=0-2' }
        const part = await get(api, `${folder}/a.txt`, headers)
        expect([part.status, await part.text()]).toEqual([206, CANARY.slice(0, 3)])
        const absent = await get(api, `${folder}/nothing.txt`, { authorization: `Bearer ${key}` })
        expect([absent.status, absent.headers.get('cache-control')]).toEqual([404, 'no-store'])
      })
    })
  })

  test('is not guessed: an address may send few that are not valid', async () => {
    await withEngine(async ({ engine, account }) => {
      const own = (await engine.pins.upload(CANARY, { account, visibility: 'private' })).record.cid
      const absent = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
      await withPorts(engine, async api => {
        const statuses = new Map<number, number>()
        for (let i = 0; i < 310; i++) {
          const headers = { authorization: `Bearer hf_guess${i}` }
          const { status } = await fetch(`${api}/ipfs/${i % 2 === 0 ? own : absent}`, { headers })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
        // The same limit as that of the routes of the API.
        expect([...statuses]).toEqual([
          [404, 300],
          [429, 10],
        ])
        const refused = await fetch(`${api}/ipfs/${own}`, { headers: { 'x-api-key': 'hf_guess' } })
        expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: 'RATE_LIMIT' })])
        // Without a credential, or with a valid one, nothing is refused.
        const { secret } = await engine.keys.create(account, { name: 'r', scopes: ['files:read'] })
        const read = async (headers: Record<string, string>) => (await fetch(`${api}/ipfs/${own}`, { headers })).status
        expect([await read({}), await read({ 'x-api-key': secret })]).toEqual([404, 200])
      })
    })
  })

  test('lets a client read private content, which the gateway does not have', async () => {
    await withEngine(async ({ engine, account }) => {
      const { record } = await engine.pins.upload(CANARY, { account, visibility: 'private' })
      const { secret: key } = await engine.keys.create(account, { name: 'r', scopes: ['files:read'] })
      await withPorts(engine, async (api, gateway) => {
        const at = { base: `${api}/api/v3`, gateway: `${gateway}/ipfs` }
        const { stream } = await new HoldfastClient({ ...at, key }).content.file(record.cid)
        expect(Buffer.from(await collect(stream)).toString()).toBe(CANARY)
        const stranger = new HoldfastClient(at)
        await expect(stranger.content.file(record.cid)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      })
    })
  })
})
