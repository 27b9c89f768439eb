import { setTimeout as wait } from 'node:timers/promises'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { describe, expect, test } from 'vitest'
import { holdBlock } from '../../../adapters/kubo/hold-block.ts'
import { KuboBackend } from '../../../adapters/kubo/kubo-backend.ts'
import { KuboRpc } from '../../../adapters/kubo/kubo-rpc.ts'
import { openHttpClient } from '../../../adapters/remote/http-client.ts'
import { CODEC, identityOf } from '../../../src/ipld/cid.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { refusalOf } from '../../clusters/refusal.ts'
import { until } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import {
  endless,
  error,
  type Handler,
  type Handlers,
  HostileRpc,
  json,
  nothing,
  SECRET,
  withHostile,
} from './hostile-rpc.ts'
import { MARK } from './kubo-under-test.ts'

/** Pins a small block, or a file of `chunks` chunks. */
async function pinned(backend: KuboBackend, { chunks = 0, signal }: { chunks?: number; signal?: AbortSignal } = {}) {
  const outside = new Outside()
  const root = await outside.add(chunks === 0 ? Buffer.from('few') : pseudoRandom(chunks * 1024 ** 2, 'chunks'))
  const done = backend.pin({ hold: 'one', root, source: outside, origins: [], signal })
  // The test awaits the rejection later.
  done.catch(() => undefined)
  return { done, outside, root }
}

const refusal = (done: Promise<unknown>): Promise<string> => refusalOf(done, 300)

describe('a hostile RPC', () => {
  const html: Handler = (request, response) =>
    void request.resume().on('end', () => response.end('<html>welcome</html>'))
  const noAnswer = 'the Kubo of the cluster sent an invalid answer'

  test.each<[what: string, handlers: Handlers, told: string]>([
    ['garbage for a configuration', { config: html }, noAnswer],
    ['no configuration', { config: json({}) }, noAnswer],
    ['garbage for pins', { 'pin/ls': html }, noAnswer],
    ['pins of another shape', { 'pin/ls': json({ Keys: [] }) }, noAnswer],
    ['another pin than was asked for', { 'pin/ls': json({ Keys: { bafkqaaa: { Type: 'recursive' } } }) }, noAnswer],
    ['garbage for an upload', { 'dag/import': html }, noAnswer],
    ['nothing for an upload', { 'dag/import': json() }, noAnswer],
    [
      'a root that failed, in a 200',
      { 'dag/import': json({ Root: { PinErrorMsg: 'no\nroom' } }, { Stats: { BlockCount: 2 } }) },
      'the Kubo of the cluster: no room',
    ],
    [
      'fewer blocks than were sent',
      { 'dag/import': json({ Stats: { BlockCount: 1 } }) },
      'the Kubo of the cluster: it took 1 of 2 blocks',
    ],
    [
      'an error after everything else',
      {
        'dag/import': (request, response) => {
          response.writeHead(200, { trailer: 'X-Stream-Error' })
          request.resume().on('end', () => {
            response.write(JSON.stringify({ Stats: { BlockCount: 2 } }))
            response.addTrailers({ 'X-Stream-Error': 'the disk is full' })
            response.end()
          })
        },
      },
      'the Kubo of the cluster: the disk is full',
    ],
    ['a pin of something else', { 'pin/add': json({ Pins: ['bafkqaaa'] }) }, noAnswer],
    ['progress and no end', { 'pin/add': json({ Progress: 1 }, { Progress: 2 }) }, noAnswer],
    ['a pin that is not there', {}, 'the Kubo of the cluster: it reported a pin that does not exist'],
    [
      'an error of its own',
      { 'pin/add': error({ Message: 'x'.repeat(5_000), Code: 0 }) },
      `the Kubo of the cluster: ${'x'.repeat(200)}`,
    ],
    ['an error page', { 'pin/ls': error('<html>', 502) }, 'the Kubo of the cluster: it answered 502'],
    [
      'an endless answer',
      { 'pin/ls': endless('x'.repeat(65_536), '"') },
      'the node of the cluster answered more than 4194304 bytes',
    ],
    ['an endless line', { 'dag/import': endless('x'.repeat(65_536)) }, noAnswer],
    ['lines of nothing', { 'pin/add': endless('{}\n'.repeat(100), `{"Pins":["${'x'.repeat(70_000)}"]}`) }, noAnswer],
  ])('that answers with %s is not believed', async (_, handlers, told) => {
    await withHostile(handlers, async ({ backend }) => {
      expect(await refusal((await pinned(backend)).done)).toBe(told)
    })
  })

  test('sends at most 4 MiB of a block', async () => {
    await withHostile({ 'block/get': endless('x'.repeat(65_536)) }, async ({ rpc }) => {
      const cid = CID.createV1(CODEC.raw, await sha256.digest(Buffer.from('x')))
      expect(await refusal(rpc.block(cid, new AbortController().signal))).toBe(noAnswer)
    })
  })

  test('may list pins endlessly; a list that breaks off is reported', async () => {
    const line = `${JSON.stringify({ Cid: 'bafkqaaa', Type: 'recursive', Name: 'x' })}\n`
    await withHostile({ 'pin/ls': endless(line) }, async ({ rpc, hostile }) => {
      let heard = 0
      for await (const { name } of rpc.pins('x', new AbortController().signal)) {
        expect(name).toBe('x')
        if (++heard === 1_000) break
      }
      await until('it is left', () => hostile.ended === 1)
    })
    const broken: Handler = (request, response) => {
      request.resume()
      response.write(line, () => request.socket.end())
    }
    await withHostile({ 'pin/ls': broken }, async ({ backend }) => {
      const all = async () => {
        for await (const _ of backend.pins());
      }
      await refusal(all())
    })
  })

  test('cannot redirect the token to another host', async () => {
    await withHostile({}, async ({ hostile: elsewhere }) => {
      const moved: Handler = (request, response) => {
        request.resume()
        response.writeHead(307, { location: `${elsewhere.base}${request.url}` }).end()
      }
      for (const command of ['config', 'pin/ls', 'dag/import', 'pin/add']) {
        await withHostile({ [command]: moved }, async ({ backend, hostile }) => {
          expect(await refusal((await pinned(backend)).done)).toBe('the Kubo of the cluster: it answered 307')
          expect(new Set(hostile.keys)).toEqual(new Set([SECRET]))
        })
      }
      expect(elsewhere.asked).toEqual([])
    })
  })

  test.each(['config', 'pin/ls', 'dag/import', 'pin/add'])('that never answers %s is given up', async command => {
    const clock = new ManualClock()
    await withHostile(
      { [command]: nothing },
      async ({ backend, hostile }) => {
        const { done } = await pinned(backend)
        await until('it is asked', () => hostile.asked.includes(command))
        clock.advance(120_000)
        expect(await refusal(done)).toBe('the Kubo of the cluster did not answer in time')
        await until('it is left', () => hostile.ended === 1)
        expect(clock.waiting).toBe(0)
      },
      clock,
    )
  })

  test('is awaited while a pin makes progress', async () => {
    const clock = new ManualClock()
    let say: (progress: number) => void = () => undefined
    const slow: Handler = (request, response) => {
      request.resume()
      say = progress => void response.write(`${JSON.stringify({ Progress: progress })}\n`)
      say(1)
    }
    await withHostile(
      { 'pin/add': slow },
      async ({ backend, hostile }) => {
        let moves = 0
        const outside = new Outside()
        const root = await outside.add(Buffer.from('few'))
        const onProgress = () => void moves++
        const done = backend.pin({ hold: 'one', root, source: outside, origins: [], onProgress })
        done.catch(() => undefined)
        await until('it has begun', () => moves === 1)
        for (const progress of [2, 3, 4]) {
          clock.advance(100_000)
          say(progress)
          await until('it goes on', () => moves === progress)
        }
        clock.advance(120_000)
        expect(await refusal(done)).toBe('the Kubo of the cluster did not answer in time')
        expect(moves).toBe(4)
        await until('it is left', () => hostile.ended === 1)
      },
      clock,
    )
  })

  test('that repeats the same progress is given up', async () => {
    const root = CID.createV1(CODEC.raw, await sha256.digest(Buffer.from('few')))
    const lines = [1, 2, 2, 1, 2, 3].map(Progress => ({ Progress }))
    await withHostile({ 'pin/add': json(...lines, { Pins: [root.toString()] }) }, async ({ rpc }) => {
      let moves = 0
      await rpc.pinAdd(root, 'x', new AbortController().signal, () => {
        moves++
      })
      expect(moves).toBe(3)
    })
  })

  test('that stops reading an upload gets no more and is given up', async () => {
    const clock = new ManualClock()
    const deaf: Handler = request => void request.pause()
    await withHostile(
      { 'dag/import': deaf },
      async ({ backend, hostile }) => {
        const { done, outside } = await pinned(backend, { chunks: 64 })
        await until('it is asked', () => hostile.asked.includes('dag/import'))
        // Waits until sockets and read-ahead are full.
        for (let seen = -1; seen !== outside.reads.length; ) {
          seen = outside.reads.length
          await wait(100)
        }
        expect(outside.reads.length).toBeLessThan(60)
        clock.advance(120_000)
        expect(await refusal(done)).toBe('the Kubo of the cluster did not answer in time')
      },
      clock,
    )
  })

  test('ends with the signal and its reason', async () => {
    await withHostile({ 'dag/import': nothing }, async ({ backend, hostile }) => {
      const controller = new AbortController()
      const { done } = await pinned(backend, { chunks: 2, signal: controller.signal })
      await until('it is asked', () => hostile.asked.includes('dag/import'))
      controller.abort(new Error('enough'))
      await expect(done).rejects.toThrow('enough')
      await until('it is left', () => hostile.ended === 1)
    })
  })

  test('that is unreachable is reported, and tried again next time', async () => {
    const client = openHttpClient()
    const clock = new ManualClock()
    const hostile = await HostileRpc.start({})
    const rpc = new KuboRpc({ url: hostile.base, authorization: null, http: client, clock })
    await hostile[Symbol.asyncDispose]()
    try {
      const backend = new KuboBackend({ rpc, mark: MARK, reader: null, clock, acceptUnsynced: false })
      const { done, root } = await pinned(backend)
      expect(await refusal(done)).toBe('cannot reach the node of the cluster')
      await refusal(backend.status(identityOf(root)))
      await refusal(backend.unpin('one', identityOf(root)))
      await refusal(backend.peers())
    } finally {
      await client.close()
    }
  })

  test('that reports no names is reported as too old', async () => {
    const root = await new Outside().add(Buffer.from('few'))
    const { cid } = await holdBlock(MARK, 'one', identityOf(root))
    await withHostile(
      { 'pin/ls': json({ Keys: { [cid.toString()]: { Type: 'recursive' } } }) },
      async ({ backend }) => {
        expect(await refusal((await pinned(backend)).done)).toContain('Kubo is older than 0.38')
      },
    )
  })

  test('that stops syncing is refused within ten minutes', async () => {
    const clock = new ManualClock()
    const stores = [{ type: 'levelds' }, { type: 's3ds' }]
    await withHostile(
      { config: (request, response) => json({ Value: stores[0] })(request, response) },
      async ({ backend, hostile }) => {
        const problem = 'it reported a pin that does not exist'
        expect(await refusal((await pinned(backend)).done)).toContain(problem)
        stores.shift()
        clock.advance(599_999)
        expect(await refusal((await pinned(backend)).done)).toContain(problem)
        clock.advance(1)
        hostile.asked.length = 0
        expect(await refusal((await pinned(backend)).done)).toContain('which are not synced')
        expect(hostile.asked).toEqual(['config'])
      },
      clock,
    )
  })

  test('gets no unpin after the signal is aborted', async () => {
    const root = await new Outside().add(Buffer.from('few'))
    const block = await holdBlock(MARK, 'one', identityOf(root))
    const ours = json({ Keys: { [block.cid.toString()]: { Type: 'recursive', Name: block.name } } })
    await withHostile({ 'pin/ls': ours }, async ({ backend, hostile }) => {
      const controller = new AbortController()
      const letGo = backend.unpin('one', identityOf(root), controller.signal, async () => {
        controller.abort(new Error('too late'))
        return true
      })
      await expect(letGo).rejects.toThrow('too late')
      expect(hostile.asked).toEqual(['pin/ls'])
    })
  })
})

describe('small contents', () => {
  /** Accepts CARs, except one that contains the bytes `refused`, and pins on request. */
  const taking = (refused: string): { handlers: Handlers; pinned: Map<string, string> } => {
    const pinned = new Map<string, string>()
    const parametersOf = (url: string | undefined): URLSearchParams => new URL(url ?? '', 'http://x').searchParams
    return {
      pinned,
      handlers: {
        'dag/import': (request, response) => {
          const parts: Buffer[] = []
          request.on('data', (part: Buffer) => parts.push(part))
          request.on('end', () => {
            const car = Buffer.concat(parts)
            if (refused !== '' && car.includes(refused)) return error({ Message: 'no', Code: 0 })(request, response)
            // Counts the blocks with the test's text. Each has a hold block above it.
            const count = car.toString('latin1').split('small content').length - 1
            response.end(JSON.stringify({ Stats: { BlockCount: 2 * count } }))
          })
        },
        'pin/add': (request, response) => {
          const asked = parametersOf(request.url)
          pinned.set(asked.get('arg') ?? '', asked.get('name') ?? '')
          json({ Pins: [asked.get('arg')] })(request, response)
        },
        'pin/ls': (request, response) => {
          const asked = parametersOf(request.url).getAll('arg')
          if (!asked.every(cid => pinned.has(cid)))
            return error({ Message: 'x is not pinned', Code: 0 })(request, response)
          const keys = asked.map(cid => [cid, { Type: 'recursive', Name: pinned.get(cid) }])
          json({ Keys: Object.fromEntries(keys) })(request, response)
        },
      },
    }
  }

  async function pinAll(backend: KuboBackend, names: readonly string[]): Promise<PromiseSettledResult<void>[]> {
    const outside = new Outside()
    const jobs = names.map(async name => {
      const root = await outside.add(Buffer.from(`${name} small content`))
      return { hold: 'one', root, source: outside, origins: [] }
    })
    const ready = await Promise.all(jobs)
    return Promise.allSettled(ready.map(job => backend.pin(job)))
  }

  const names = Array.from({ length: 40 }, (_, i) => `the ${i}th`)

  test('are uploaded together, pinned alone, and checked together', async () => {
    const { handlers, pinned } = taking('')
    await withHostile(handlers, async ({ backend, hostile }) => {
      const ended = await pinAll(backend, names)
      expect(ended.filter(({ status }) => status === 'rejected')).toEqual([])
      const counts = Object.groupBy(hostile.asked, command => command)
      expect(counts['dag/import']?.length).toBeLessThan(20)
      expect(counts['pin/add']).toHaveLength(40)
      expect(counts['pin/ls']?.length).toBeLessThanOrEqual(40)
      expect([...pinned.values()].every(name => name.startsWith(MARK))).toBe(true)
    })
  })

  test('do not fail because of one among them', async () => {
    const { handlers, pinned } = taking('the 7th')
    await withHostile(handlers, async ({ backend }) => {
      const ended = await pinAll(backend, names)
      expect(ended.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([7])
      expect(pinned.size).toBe(39)
    })
  })

  test('are refused if blocks or pins are missing afterwards', async () => {
    const { handlers } = taking('')
    await withHostile({ ...handlers, 'dag/import': json({ Stats: { BlockCount: 1 } }) }, async ({ backend }) => {
      expect((await pinAll(backend, ['a'])).map(({ status }) => status)).toEqual(['rejected'])
    })
    const forgetful = { ...handlers, 'pin/ls': error({ Message: 'x is not pinned', Code: 0 }) }
    await withHostile(forgetful, async ({ backend }) => {
      expect((await pinAll(backend, ['a', 'b'])).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    })
  })
})
