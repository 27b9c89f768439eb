import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pseudoRandom, sha256Hex } from '../../support/bytes.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { leaf } from './support/dags.ts'
import { deadPort, unknownCid } from './support/net.ts'

/** HOLDFAST_TEST_HEAVY makes the data as large as in production. */
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const FILES = isHeavy ? 2_000 : 200
const LARGE_BYTES = (isHeavy ? 200 : 12) * 1024 ** 2
const LONGEST_MS = isHeavy ? 180_000 : 80_000

type Json = Record<string, unknown>

/** A server, and a client with its owner's key. */
class Client {
  readonly server: ServerProcess
  readonly #key: string

  private constructor(server: ServerProcess, key: string) {
    this.server = server
    this.#key = key
  }

  static async start(dir: string, config: object): Promise<Client> {
    const key = pseudoRandom(24, dir).toString('hex')
    const file = `${dir}.json`
    writeFileSync(file, JSON.stringify(config))
    const env = { HOLDFAST_BOOTSTRAP_KEY: key }
    return new Client(await ServerProcess.start(dir, ['--config', file], env, LONGEST_MS), key)
  }

  async peerAddress(): Promise<string> {
    await this.server.until(/^peer address .*\n/m)
    return /^peer address +(\S+)$/m.exec(this.server.stdout)?.[1] ?? ''
  }

  async request(method: string, path: string, body?: FormData | object, headers: Record<string, string> = {}) {
    const isForm = body instanceof FormData
    const answer = await fetch(`${this.server.api}${path}`, {
      method,
      headers: {
        ...{ authorization: `Bearer ${this.#key}`, ...headers },
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as Json }
  }

  async open(path: string): Promise<{ status: number; bytes: Buffer }> {
    const answer = await fetch(`${this.server.url}/ipfs/${path}`)
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
}

function withServers(use: (a: Client, b: Client) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    try {
      const a = await Client.start(join(dir, 'a'), {})
      const pin = { findTimeoutSeconds: 10, waitSeconds: isHeavy ? 120 : 60 }
      const b = await Client.start(join(dir, 'b'), { pin, network: { peers: [await a.peerAddress()] } })
      await use(a, b)
    } finally {
      // Stop the servers before their directories are removed.
      await ServerProcess.killAll()
    }
  })
}

/** Address of an unknown peer. */
const nobody = deadPort.replace(/^.*(?=\/p2p\/)/, '')

describe('two servers', () => {
  test('copy a tree and a large file, served after the first stops', { timeout: LONGEST_MS }, () =>
    withServers(async (a, b) => {
      const files = Array.from({ length: FILES }, (_, i) => ({
        path: `folder-${i % 20}/naïve ${i}.bin`,
        bytes: pseudoRandom(500 + ((i * 37) % 5_000), `tree ${i}`),
      }))
      const tree = new FormData()
      for (const { path, bytes } of files) tree.append('files', new Blob([bytes]), path)
      const large = pseudoRandom(LARGE_BYTES, 'large')
      const form = new FormData()
      form.append('file', new Blob([large]), 'large.bin')
      const root = String((await a.request('POST', '/files/directory-dag', tree)).json.cid)
      const file = String((await a.request('POST', '/files', form)).json.cid)

      const origins = [await a.peerAddress()]
      const pinned = await Promise.all([
        b.request('POST', `/files/pin/${root}`, {}),
        b.request('POST', `/files/pin/${file}`, { origins, customName: 'by its origin' }),
      ])
      expect(pinned.map(({ status, json }) => [status, json.status, json.pinned])).toEqual([
        [201, 'pinned', true],
        [201, 'pinned', true],
      ])
      a.server.signal('SIGKILL')
      await a.server.ended()

      expect(sha256Hex((await b.open(file)).bytes)).toBe(sha256Hex(large))
      for (const { path, bytes } of files) {
        const read = await b.open(`${root}/${encodeURI(path)}`)
        expect(read.status, path).toBe(200)
        expect(Buffer.compare(read.bytes, bytes), path).toBe(0)
      }
      const list = await b.request('GET', `/users/me/uploads?parentCid=${root}&limit=5`)
      expect(list.json.total).toBe(FILES)
      const detail = await b.request('GET', `/users/me/uploads/dag/${root}`)
      expect(detail.json).toMatchObject({ total_files: FILES, dagCid: root, cid: root })
      const status = await b.request('GET', `/status/${file}`)
      expect(status.json).toMatchObject({ status: 'pinned', pinned: true, attempts: 0, lastError: null })
    }),
  )

  test('report the status of a pin by HTTP', () =>
    withServers(async (a, b) => {
      const text = new FormData()
      text.append('file', new Blob(['passed on']), 'text.txt')
      const cid = String((await a.request('POST', '/files', text)).json.cid)

      const missing = await b.request('POST', `/files/pin/${unknownCid}`)
      expect([missing.status, missing.json.code]).toEqual([404, 'CID_NOT_FOUND'])
      expect((await b.request('GET', '/users/me/uploads')).json.total).toBe(0)
      expect((await b.request('GET', `/status/${unknownCid}`)).status).toBe(404)

      const malformed = await b.request('POST', `/files/pin/${cid}`, { origins: 'nonsense' })
      expect([malformed.status, malformed.json.code]).toEqual([400, 'VALIDATION'])
      const forbidden = await b.request('POST', `/files/pin/${unknownCid}`, { origins: ['http://127.0.0.1:1'] })
      expect([forbidden.status, forbidden.json.code]).toEqual([400, 'VALIDATION'])
      expect(forbidden.json.message).toContain('origins')

      const prefer = { prefer: 'respond-async' }
      const failing = await b.request('POST', `/files/pin/${unknownCid}`, { origins: [nobody] }, prefer)
      expect([failing.status, failing.json.status, failing.json.pinned]).toEqual([201, 'queued', false])
      const status = async (of: string) => (await b.request('GET', `/status/${of}`)).json
      await expect.poll(async () => (await status(unknownCid)).status).toBe('failed')
      expect(await status(unknownCid)).toMatchObject({ attempts: 1, blocks: 0, bytes: 0, lastAnnounced: null })
      expect((await status(unknownCid)).lastError).toMatch(/^CID_NOT_FOUND: /)
      expect(String((await status(unknownCid)).nextAttemptAt)).toMatch(/^\d{4}-.*Z$/)
      const allocations = await b.request('GET', `/allocations/${unknownCid}`)
      expect(allocations.json).toMatchObject({
        ...{ replication_factor: 0, nodes: [{ status: 'failed', error: expect.stringContaining('CID_NOT_FOUND') }] },
      })

      const queued = await b.request('POST', `/files/pin/${cid}`, {}, prefer)
      expect([queued.status, queued.json.status]).toEqual([201, 'queued'])
      await expect.poll(async () => (await status(cid)).status).toBe('pinned')
      const renamed = await b.request('PUT', `/files/rename/${queued.json.uploadId}`, { newName: 'anew' })
      expect(renamed.json).toEqual({ updated: true, newName: 'anew' })
      expect(await status(cid)).toMatchObject({ name: 'anew', blocks: 1, bytes: 9 })
      expect((await b.open(cid)).bytes.toString()).toBe('passed on')
      expect((await b.request('GET', '/peers/')).json).toMatchObject({ peers: expect.anything() })
      expect(JSON.stringify((await b.request('GET', '/peers')).json)).not.toMatch(/ip4|p2p/)

      const removed = await b.request('DELETE', `/files/remove/${unknownCid}`)
      expect(removed.json).toMatchObject({ removed: true })
      expect((await b.request('GET', `/status/${unknownCid}`)).status).toBe(404)
      expect(leaf(Buffer.from('passed on')).root.toString()).toBe(cid)
    }))
})
