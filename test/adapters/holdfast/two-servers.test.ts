import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const KEY = 'a-key-of-an-owner-with-thirty-two-characters-or-more'
const CONTENT = pseudoRandom(2 * 1024 ** 2 + 1_000, 'two servers')
/** No content of the cluster stays on this node. */
const CACHE_BYTES = 0

/** A server that can be killed and restarted with its data directory and port. */
class Killable {
  readonly #dir: string
  readonly #args: readonly string[]
  #server: ServerProcess

  private constructor(dir: string, args: readonly string[], server: ServerProcess) {
    this.#dir = dir
    this.#args = args
    this.#server = server
  }

  static async start(dir: string, args: readonly string[] = []): Promise<Killable> {
    const fixed = [...args, '--port', `${await fixedPort(1)}`]
    return new Killable(dir, fixed, await Killable.#run(dir, fixed))
  }

  static #run(dir: string, args: readonly string[]): Promise<ServerProcess> {
    const env = { HOLDFAST_BOOTSTRAP_KEY: KEY, THERE_KEY: KEY, HOLDFAST_LOG_LEVEL: 'silent' }
    return ServerProcess.start(dir, args, env, 120_000)
  }

  get url(): string {
    return this.#server.url
  }

  /** Kills the server without a shutdown. */
  async kill(): Promise<void> {
    this.#server.signal('SIGKILL')
    await this.#server.ended()
  }

  async restart(): Promise<void> {
    this.#server = await Killable.#run(this.#dir, this.#args)
  }

  async #ask(method: string, path: string, body?: FormData): Promise<Response> {
    const headers = { authorization: `Bearer ${KEY}` }
    const answer = await fetch(`${this.url}${path}`, { method, headers, ...(body && { body }) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer
  }

  async upload(fields: Record<string, string>): Promise<{ cid: string; status: string }> {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', new Blob([CONTENT]), 'file.bin')
    return (await this.#ask('POST', '/api/v3/files', form)).json() as Promise<{ cid: string; status: string }>
  }

  async uploads(): Promise<Array<{ cid: string; status: string }>> {
    const answer = await (await this.#ask('GET', '/api/v3/users/me/uploads')).json()
    return (answer as { uploads: Array<{ cid: string; status: string }> }).uploads
  }

  async read(cid: string): Promise<Buffer> {
    return Buffer.from(await (await this.#ask('GET', `/ipfs/${cid}`)).arrayBuffer())
  }

  remove(cid: string): Promise<unknown> {
    return this.#ask('DELETE', `/api/v3/files/remove/${cid}`)
  }

  /** Returns the number of blocks after garbage collection. */
  async blocks(): Promise<number> {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    await fetch(`${this.url}/admin/v1/gc`, { method: 'POST', headers, body: '{"graceSeconds":0}' })
    const stats = (await (await this.#ask('GET', '/admin/v1/stats')).json()) as {
      blocks: { durable: { count: number } }
    }
    return stats.blocks.durable.count
  }
}

/** Runs with two servers, and stops them before their directories are removed. */
function withServers(use: (here: Killable, there: Killable) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    try {
      const there = await Killable.start(join(dir, 'there'))
      await use(await Killable.start(join(dir, 'here'), ['--config', await configFile(dir, there)]), there)
    } finally {
      await ServerProcess.killAll()
    }
  })
}

/** Writes the configuration of the server whose cluster is on the other one. */
async function configFile(dir: string, there: Killable): Promise<string> {
  const backend = { type: 'holdfast', url: `${there.url}/api/v3`, cluster: 'cl0-global', keyEnv: 'THERE_KEY' }
  const common = { label: 'one', region: 'eu', country: null, gateways: [] }
  const clusters = [
    { ...common, id: 'cl0-global' },
    { ...common, id: 'cl1-eu', backend: { ...backend, cacheBytes: CACHE_BYTES } },
  ]
  const file = join(dir, 'here.json')
  await writeFile(file, JSON.stringify({ clusters, defaultCluster: 'cl0-global' }))
  return file
}

/** Kills the other server during a step, and restarts it. */
async function killedDuring(there: Killable, step: () => Promise<void>): Promise<void> {
  await there.kill()
  await step()
  await there.restart()
}

test('killing the other node at any step loses and leaves nothing', async () => {
  await withServers(async (here, there) => {
    const isPinned = async () => (await here.uploads()).every(({ status }) => status === 'pinned')
    const readsBack = async (cid: string) => expect((await here.read(cid)).equals(CONTENT)).toBe(true)
    let cid = ''

    // Upload while the other server is down. Kill it again as soon as it has a part.
    await killedDuring(there, async () => {
      const answer = await here.upload({ cl: 'cl1-eu' })
      expect(answer.status).toBe('pinning')
      cid = answer.cid
      await readsBack(cid)
    })
    await until('something has come', async () => (await there.uploads()).length > 0)
    await killedDuring(there, () => readsBackOrWaits(here, cid))
    await until('it is pinned', isPinned)
    expect((await there.uploads()).map(upload => upload.cid)).toEqual([cid])

    // Read through the other server, and kill both in between.
    await here.kill()
    await here.restart()
    await killedDuring(there, async () => undefined)
    await readsBack(cid)

    // Remove while the other server is down.
    await killedDuring(there, async () => {
      await here.remove(cid)
      expect(await here.uploads()).toEqual([])
    })
    await until('the other has let go', async () => (await there.uploads()).length === 0)

    // Let a pin expire while the other server is down.
    for (let seconds = 4; (await there.uploads()).length === 0; seconds *= 2) {
      const timelock = new Date(Date.now() + seconds * 1_000).toISOString()
      await here.upload({ cl: 'cl1-eu', timelock })
      await until('it is pinned, or was too slow', async () => {
        return (await there.uploads()).length === 1 || (await here.uploads()).length === 0
      })
    }
    await killedDuring(there, () => until('it has ended', async () => (await here.uploads()).length === 0))
    await until('the other has let go', async () => (await there.uploads()).length === 0)
    expect([await here.blocks(), await there.blocks()]).toEqual([0, 0])
  })
}, 120_000)

/** Checks that a read is right, or fails while the other node is down. */
async function readsBackOrWaits(here: Killable, cid: string): Promise<void> {
  const bytes = await here.read(cid).catch(() => null)
  expect(bytes === null || bytes.equals(CONTENT)).toBe(true)
}
