import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Upload } from '../../../../adapters/client/index.ts'
import { type Send, type Source, UploadQueue } from '../../../../adapters/console/page/content/upload-queue.ts'
import { HoldfastError } from '../../../../src/domain/errors.ts'

/** An upload that the test controls. */
interface Sent {
  name: string
  progress: (bytes: number) => void
  finish: (result: Upload) => void
  fail: (error: Error) => void
  signal: AbortSignal
}

const RESULT = { cid: 'bafy', clusterId: 'cl0-global' } as Upload

function queueOf(clock = { now: 0 }) {
  const sent: Sent[] = []
  const send: Send = (source, { onProgress, signal = new AbortController().signal }) =>
    new Promise((finish, fail) => {
      signal.addEventListener('abort', () => fail(new Error('aborted')))
      sent.push({ name: source.name, progress: bytes => onProgress?.(bytes), finish, fail, signal })
    })
  return { sent, clock, queue: new UploadQueue(send, () => clock.now) }
}

function source(name: string, size = 1_000): Source {
  return { name, size, content: { files: [] } }
}

/** Lets pending promises settle. */
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const states = ({ uploads }: UploadQueue): string[] => uploads.map(({ state }) => state)

describe('uploads', () => {
  afterEach(() => void vi.useRealTimers())

  test('run three at a time, in their order', async () => {
    const { queue, sent } = queueOf()
    queue.add(['a', 'b', 'c', 'd', 'e'].map(name => source(name)))
    expect(sent.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    sent[1]?.finish(RESULT)
    await settled()
    expect(sent.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
    expect(states(queue)).toEqual(['sending', 'done', 'sending', 'sending', 'waiting'])
    expect(queue.uploads[1]?.result).toBe(RESULT)
  })

  test('report progress, speed, and the wait for the answer', () => {
    const { queue, sent, clock } = queueOf()
    queue.add([source('a', 10_000)])
    sent[0]?.progress(100)
    expect(queue.uploads[0]).toMatchObject({ sent: 100, speed: null, state: 'sending' })
    clock.now = 2_000
    sent[0]?.progress(4_000)
    expect(queue.uploads[0]).toMatchObject({ sent: 4_000, speed: 2_000 })
    clock.now = 3_000
    sent[0]?.progress(5_000)
    // The newest second counts for two fifths.
    expect(queue.uploads[0]?.speed).toBeCloseTo(1_600)
    sent[0]?.progress(10_050)
    expect(queue.uploads[0]?.state).toBe('storing')
  })

  test('are cancelled, while sent or waiting, and retried', async () => {
    const { queue, sent } = queueOf()
    queue.add(['a', 'b', 'c', 'd'].map(name => source(name)))
    const [a, , , d] = queue.uploads
    queue.cancel(d?.id ?? 0)
    queue.cancel(a?.id ?? 0)
    expect(sent[0]?.signal.aborted).toBe(true)
    await settled()
    expect(states(queue)).toEqual(['cancelled', 'sending', 'sending', 'cancelled'])
    queue.retry(d?.id ?? 0)
    expect(sent.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
    // Progress of a cancelled upload has no effect.
    sent[0]?.progress(1_000)
    expect(states(queue)[0]).toBe('cancelled')
  })

  test('retried at once survive the end of their first attempt', async () => {
    const { queue, sent } = queueOf()
    queue.add([source('a')])
    const id = queue.uploads[0]?.id ?? 0
    queue.cancel(id)
    queue.retry(id)
    await settled()
    expect([states(queue), sent.length]).toEqual([['sending'], 2])
    sent[1]?.finish(RESULT)
    await settled()
    expect(states(queue)).toEqual(['done'])
  })

  test('wait for a server that is away, and then go on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { queue, sent } = queueOf()
    const away = (status?: number) =>
      new HoldfastError('UNAVAILABLE', 'no answer', status === undefined ? {} : { details: { status } })
    queue.add(['a', 'b', 'c', 'd'].map(name => source(name)))
    for (const one of sent.slice()) one.fail(away(503))
    await settled()
    expect(states(queue)).toEqual(['waiting', 'waiting', 'waiting', 'waiting'])
    expect([queue.uploads[0]?.error, queue.unfinished, sent.length]).toEqual(['No answer. Trying again…', 4, 3])
    vi.advanceTimersByTime(2_000)
    expect([sent.length, queue.uploads[0]?.error]).toEqual([6, null])
    for (const one of sent.slice(3)) one.finish(RESULT)
    await settled()
    expect(sent.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'd'])
    // A proxy that refuses the file, or an address that redirects, is no server that is away.
    sent[6]?.fail(away(413))
    await settled()
    expect(states(queue)).toEqual(['done', 'done', 'done', 'failed'])
  })

  test('are sent a bounded number of times without a server', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { queue, sent } = queueOf()
    queue.add([source('a')])
    for (let last = -1; sent.length - 1 > last; vi.advanceTimersByTime(15_000)) {
      last = sent.length - 1
      sent[last]?.fail(new HoldfastError('UNAVAILABLE', 'no answer'))
      await settled()
    }
    expect([states(queue), sent.length]).toEqual([['failed'], 13])
  })

  test('that fail show why, and do not stop others', async () => {
    const { queue, sent } = queueOf()
    queue.add(['a', 'b', 'c', 'd'].map(name => source(name)))
    sent[0]?.fail(new Error('the disk is full'))
    await settled()
    expect(queue.uploads[0]).toMatchObject({ state: 'failed', error: 'The disk is full' })
    expect(sent).toHaveLength(4)
    queue.retry(queue.uploads[0]?.id ?? 0)
    expect(queue.uploads[0]).toMatchObject({ state: 'waiting', error: null })
  })

  test('that are paused start again at the end of the pause', async () => {
    const { queue, sent } = queueOf()
    queue.add(['a', 'b', 'c', 'd'].map(name => source(name)))
    sent[0]?.finish(RESULT)
    sent[1]?.progress(500)
    await settled()
    queue.pause()
    expect(sent.slice(1).every(({ signal }) => signal.aborted)).toBe(true)
    await settled()
    queue.add([source('e')])
    expect([states(queue), sent.length]).toEqual([['done', 'waiting', 'waiting', 'waiting', 'waiting'], 4])
    expect(queue.uploads[1]).toMatchObject({ sent: 0, error: null })
    queue.resume()
    expect(sent.slice(4).map(({ name }) => name)).toEqual(['b', 'c', 'd'])
    for (const one of sent.slice(4)) one.finish(RESULT)
    await settled()
    expect(states(queue)).toEqual(['done', 'done', 'done', 'done', 'sending'])
  })

  test('are removed when finished, and cancelled together otherwise', async () => {
    const { queue, sent } = queueOf()
    queue.add(['a', 'b'].map(name => source(name)))
    sent[0]?.finish(RESULT)
    await settled()
    queue.clear()
    expect(queue.uploads.map(({ source }) => source.name)).toEqual(['b'])
    expect(queue.isBusy).toBe(true)
    queue.cancelAll()
    expect(queue.isBusy).toBe(false)
  })
})
