import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { GatewaysReader } from '../../../adapters/remote/gateways-reader.ts'
import type { BlockAnswer, SizeAnswer } from '../../../src/outgoing/gateway-client.ts'
import { leaf } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { turns } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const { root, blocks } = leaf(pseudoRandom(900, 'block'))
const BLOCK: BlockAnswer = { kind: 'block', bytes: blocks[0]?.bytes ?? Buffer.of() }
const LIE: BlockAnswer = { kind: 'failed', reason: 'sent the bytes of another block', final: true }
/** An answer that never comes. */
const SILENCE = 'silence'

/** Gateways by host, with the order of the requests. */
function gateways(answers: Record<string, BlockAnswer | typeof SILENCE>) {
  const clock = new ManualClock()
  const asked: string[] = []
  const get = async ({ hostname }: URL, _cid: CID, signal: AbortSignal): Promise<BlockAnswer> => {
    asked.push(hostname)
    const answer = answers[hostname] ?? SILENCE
    if (answer !== SILENCE) return answer
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const size = async (base: URL, cid: CID, signal: AbortSignal): Promise<SizeAnswer> => {
    const answer = await get(base, cid, signal)
    return answer.kind === 'block' ? { kind: 'size', bytes: answer.bytes.length } : answer
  }
  const bases = Object.keys(answers).map(host => new URL(`http://${host}`))
  return { reader: new GatewaysReader(bases, { get, size }, clock), clock, asked, answers }
}

async function later(clock: ManualClock, ms: number): Promise<void> {
  await turns(1)
  clock.advance(ms)
  await turns(1)
}

test('tries gateways in turn past a wrong, failed or missing block', async () => {
  const { reader, asked } = gateways({
    lies: LIE,
    down: { kind: 'failed', reason: 'could not be reached', final: false },
    empty: { kind: 'missing' },
    right: BLOCK,
    spare: BLOCK,
  })
  expect(await reader.read(root)).toEqual(blocks[0]?.bytes)
  expect(asked).toEqual(['lies', 'down', 'empty', 'right'])
})

test('gives up a silent gateway and tries it last for a while', async () => {
  const { reader, asked, clock } = gateways({ slow: SILENCE, right: BLOCK })
  const read = reader.read(root)
  await later(clock, 5_999)
  expect(asked).toEqual(['slow'])
  await later(clock, 1)
  await read
  expect(asked).toEqual(['slow', 'right'])
  await reader.read(root)
  expect(asked.splice(0)).toEqual(['slow', 'right', 'right'])
  clock.advance(30_000)
  const again = reader.read(root)
  expect(asked).toEqual(['slow'])
  await later(clock, 6_000)
  await again
})

test('distinguishes a missing block from a gateway that failed', async () => {
  const none = gateways({ one: { kind: 'missing' }, two: { kind: 'missing' } })
  await expect(none.reader.read(root)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const some = gateways({ one: LIE, two: { kind: 'missing' } })
  await expect(some.reader.read(root)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

test('a read ends after twenty seconds, or with its signal', async () => {
  const { reader, clock, asked } = gateways({ one: SILENCE, two: SILENCE, three: SILENCE })
  const read = reader.read(root)
  const ended = expect(read).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await later(clock, 6_000)
  await later(clock, 6_000)
  await later(clock, 8_000)
  await ended
  expect(asked.splice(0)).toEqual(['one', 'two', 'three'])
  const controller = new AbortController()
  const left = reader.read(root, { signal: controller.signal })
  await turns(1)
  controller.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(asked).toHaveLength(1)
})

test('returns the first reported size of a block, or the failure', async () => {
  const { reader, asked } = gateways({ one: LIE, two: { kind: 'missing' }, three: BLOCK })
  expect(await reader.sizeOf(root)).toBe(900)
  expect(asked).toEqual(['one', 'two', 'three'])
  await expect(gateways({ one: { kind: 'missing' } }).reader.sizeOf(root)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(gateways({ one: LIE }).reader.sizeOf(root)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
