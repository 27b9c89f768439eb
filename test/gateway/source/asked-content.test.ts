import { MessageChannel } from 'node:worker_threads'
import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { answerCalls, PortCalls } from '../../../src/concurrency/port-calls.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { AskedContent, answersFrom } from '../../../src/gateway/source/asked-content.ts'
import type { ContentOrigin } from '../../../src/gateway/source/request-blocks.ts'
import { rawBlock } from '../world.ts'

test('each answer has its own session with the main thread', async () => {
  const [cid, bytes] = await rawBlock(Buffer.from('from elsewhere'))
  const [missing] = await rawBlock(Buffer.from('nowhere'))
  const signals: AbortSignal[] = []
  let released = 0
  const origin: ContentOrigin = {
    isForRecords: true,
    open: async (root: CID, signal) => {
      if (!root.equals(cid)) return null
      signals.push(signal)
      const get = async (asked: CID): Promise<Uint8Array> => {
        if (asked.equals(cid))
          return Buffer.concat([Buffer.alloc(1000), bytes, Buffer.alloc(1000)]).subarray(1000, -1000)
        throw new HoldfastError('CID_NOT_FOUND', `nobody has ${asked}`)
      }
      return { isLocal: false, liveUntil: 1_800_000_000_000, get, sizeOf: () => null, release: () => void released++ }
    },
  }
  const { port1, port2 } = new MessageChannel()
  const { answers, end } = answersFrom(origin, 'network')
  answerCalls(port1, answers)
  const content = new AskedContent(new PortCalls(port2, {}), 'network')
  const { signal } = new AbortController()
  expect(await content.open(missing, signal)).toBe(null)
  const [first, second] = [await content.open(cid, signal), await content.open(cid, signal)]
  expect(first?.liveUntil).toBe(1_800_000_000_000)
  expect(Buffer.from((await first?.get(cid)) ?? []).toString()).toBe('from elsewhere')
  await expect(first?.get(missing)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
  first?.release()
  first?.release()
  await expect.poll(() => released).toBe(1)
  await expect(first?.get(cid)).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await second?.get(cid)).toHaveLength(bytes.length)
  // Simulates the end of the thread.
  end()
  expect([released, signals.map(({ aborted }) => aborted)]).toEqual([2, [true, true]])
  port1.close()
})
