import { describe, expect, test } from 'vitest'
import { PlaceSource } from '../../../adapters/fleet/place-source.ts'
import type { BlockSource } from '../../../src/content/block-source.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { cidOf } from '../../../src/ipld/cid.ts'
import { dagOf } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const CID = cidOf(dagOf('a'))
const bytes = new Uint8Array([1])

class Node implements BlockSource {
  asked = 0
  readonly #answer: (signal?: AbortSignal) => Promise<Uint8Array>

  constructor(answer: (signal?: AbortSignal) => Promise<Uint8Array>) {
    this.#answer = answer
  }

  read(_: unknown, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    this.asked++
    return this.#answer(signal)
  }
}

const whole = () => new Node(async () => bytes)
const failing = (code: 'NOT_FOUND' | 'BLOCK_DAMAGED' | 'UNAVAILABLE') =>
  new Node(async () => {
    throw new HoldfastError(code, code)
  })

describe('a source of several nodes', () => {
  test('asks the next node for a damaged block, and keeps to it', async () => {
    const [damaged, sound] = [failing('BLOCK_DAMAGED'), whole()]
    const source = new PlaceSource([damaged, sound], new ManualClock())
    expect([await source.read(CID), await source.read(CID)]).toEqual([bytes, bytes])
    expect([damaged.asked, sound.asked]).toEqual([1, 2])
  })

  test('asks the next node after a second without a block', async () => {
    const clock = new ManualClock()
    let isAborted = false
    const silent = new Node(
      signal =>
        new Promise((_, reject) =>
          signal?.addEventListener('abort', () => {
            isAborted = true
            reject(signal.reason)
          }),
        ),
    )
    const sound = whole()
    const read = new PlaceSource([silent, sound], clock).read(CID)
    clock.advance(999)
    expect(sound.asked).toBe(0)
    clock.advance(1)
    expect([await read, isAborted]).toEqual([bytes, true])
  })

  test('a node that is away may have what another lacks', async () => {
    const source = new PlaceSource([failing('NOT_FOUND'), failing('UNAVAILABLE')], new ManualClock())
    await expect(source.read(CID)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
