import { describe, expect, test } from 'vitest'
import { AccountBatches, type Outcome } from '../../../adapters/postgres/access/account-batches.ts'

const SMALL = { items: 1, bytes: 100 }

interface Batch {
  inputs: readonly string[]
  waits: boolean
  /** Gets the lock that a waiting batch waits for. Returns the calls that it takes with it. */
  getLock(): readonly string[]
  /** Ends the batch. Inputs without an outcome succeed. */
  end(outcomes?: Record<string, Outcome<string>>): void
  fail(): void
}

/** Batches that the test ends. An input names its account with its first letter. */
class Batches {
  readonly begun: Batch[] = []
  readonly #batches = new AccountBatches<string, string>((inputs, later) => {
    const { promise, resolve, reject } = Promise.withResolvers<Array<Outcome<string>>>()
    const all = [...inputs]
    this.begun.push({
      inputs,
      waits: later !== null,
      getLock: () => {
        const more = later?.() ?? []
        all.push(...more)
        return more
      },
      end: (outcomes = {}) => resolve(all.map(input => outcomes[input] ?? { value: `did ${input}` })),
      fail: () => reject(new Error(`failed ${inputs}`)),
    })
    return promise
  })

  /** Adds calls. Returns the settled ones so far: the value, or the message of the error. */
  add(inputs: readonly string[], size = SMALL): string[] {
    const settled: string[] = []
    for (const input of inputs) {
      const ended = this.#batches.add(input.slice(0, 1), input, size)
      ended.then(
        value => settled.push(value),
        (error: Error) => settled.push(error.message),
      )
    }
    return settled
  }

  /** Waits until the batches that can begin have begun. */
  async settle(): Promise<this> {
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
    return this
  }

  get inputs(): string[] {
    return this.begun.map(({ inputs }) => inputs.join(' '))
  }
}

/** Returns batches whose second one waits for the locked account `a`. */
async function withLockedAccount(): Promise<Batches> {
  const batches = new Batches()
  batches.add(['a0'])
  await batches.settle()
  batches.begun[0]?.end({ a0: 'aside' })
  return batches.settle()
}

describe('batches of accounts', () => {
  test('calls that arrive while a batch runs share the next batch', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'b1'])
    await batches.settle()
    batches.add(['c1'])
    expect((await batches.settle()).inputs).toEqual(['a1 b1'])
    batches.begun[0]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1'])
    expect(settled).toEqual(['did a1', 'did b1'])
  })

  test('a second batch runs at once if it is as large', async () => {
    const batches = new Batches()
    batches.add(['a1', 'b1'])
    await batches.settle()
    batches.add(['c1', 'b2', 'a2'])
    await batches.settle()
    batches.add(['d1'])
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1 d1'])
    batches.add(['e1', 'f1', 'e2', 'f2'])
    expect((await batches.settle()).begun).toHaveLength(2)
    batches.begun[1]?.end()
    expect((await batches.settle()).inputs.at(-1)).toBe('e1 f1 e2 f2')
  })

  test('calls of one account run in order, one batch at a time', async () => {
    const batches = new Batches()
    batches.add(['a1', 'a2'])
    await batches.settle()
    batches.add(['a3', 'b1', 'b2', 'a4'])
    expect((await batches.settle()).inputs).toEqual(['a1 a2', 'b1 b2'])
    batches.begun[0]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1 a2', 'b1 b2', 'a3 a4'])
  })

  test('accounts take turns when a batch is full', async () => {
    const batches = new Batches()
    const many = Array.from({ length: 300 }, (_, i) => `a${i}`)
    batches.add([...many, 'b1', 'c1'])
    await batches.settle()
    const [first] = batches.begun
    expect([first?.inputs.length, first?.inputs.slice(0, 4)]).toEqual([256, ['a0', 'b1', 'c1', 'a1']])
    batches.add(['d1'])
    await batches.settle()
    first?.end()
    await batches.settle()
    const [, next] = batches.begun
    expect([next?.inputs.length, next?.inputs.slice(0, 3)]).toEqual([47, ['a254', 'd1', 'a255']])
  })

  test('a batch has at most 1 MiB, and at least one call', async () => {
    const batches = new Batches()
    batches.add(['a1', 'b1', 'c1', 'd1'], { items: 1, bytes: 400 * 1024 })
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1 d1'])
    const others = new Batches()
    others.add(['a1', 'b1'], { items: 300, bytes: 2 ** 21 })
    expect((await others.settle()).inputs).toEqual(['a1', 'b1'])
  })

  test('calls of a locked account wait in order without holding up others', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'b1', 'a2'])
    await batches.settle()
    batches.begun[0]?.end({ a1: 'aside', a2: 'aside' })
    batches.add(['a3', 'b2', 'c1'])
    expect((await batches.settle()).inputs).toEqual(['a1 b1 a2', 'a1 a2', 'b2 c1'])
    expect(batches.begun.map(({ waits }) => waits)).toEqual([false, true, false])
    batches.begun[2]?.end()
    batches.add(['b3'])
    expect((await batches.settle()).inputs.at(-1)).toBe('b3')
    batches.begun[1]?.end()
    expect((await batches.settle()).inputs.at(-1)).toBe('a3')
    expect(settled).toEqual(['did b1', 'did a1', 'did a2'])
  })

  test('a batch that waited for its lock takes the later calls along', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'b1'])
    await batches.settle()
    batches.begun[0]?.end({ a1: 'aside' })
    const later = batches.add(['a2', 'b2', 'a3'])
    await batches.settle()
    const [, waiting] = batches.begun
    expect([waiting?.inputs, waiting?.getLock()]).toEqual([['a1'], ['a2', 'a3']])
    waiting?.end({ a3: { error: new Error('refused') } })
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'a1', 'b2'])
    expect([settled, later]).toEqual([
      ['did b1', 'did a1'],
      ['did a2', 'refused'],
    ])
  })

  test('a batch that waited takes no more than 256 calls', async () => {
    const batches = await withLockedAccount()
    batches.add(Array.from({ length: 300 }, (_, i) => `a${i + 1}`))
    expect(batches.begun[1]?.getLock()).toHaveLength(255)
    batches.begun[1]?.end()
    expect((await batches.settle()).begun[2]?.inputs).toHaveLength(45)
  })

  test('later calls run alone, too, after the waiting batch failed', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1'])
    await batches.settle()
    batches.begun[0]?.end({ a1: 'aside' })
    await batches.settle()
    const later = batches.add(['a2'])
    batches.begun[1]?.getLock()
    batches.begun[1]?.fail()
    await batches.settle()
    batches.begun[2]?.fail()
    await batches.settle()
    batches.begun[3]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1', 'a1', 'a1', 'a2'])
    expect([settled, later, batches.begun[3]?.getLock()]).toEqual([['failed a1'], ['did a2'], []])
  })

  test('the next eight batches of a locked account wait at once', async () => {
    const batches = await withLockedAccount()
    batches.begun[1]?.end()
    await batches.settle()
    for (let i = 1; i <= 9; i++) {
      batches.add([`a${i}`])
      await batches.settle()
      batches.begun.at(-1)?.end()
      await batches.settle()
    }
    expect(batches.begun.map(({ waits }) => waits)).toEqual([false, ...Array.from({ length: 9 }, () => true), false])
  })

  test('locked accounts use a bounded number of lanes', async () => {
    const batches = new Batches()
    const accounts = 'abcdefghij'.split('')
    batches.add(accounts)
    await batches.settle()
    batches.begun[0]?.end(Object.fromEntries(accounts.map(account => [account, 'aside'] as const)))
    expect((await batches.settle()).inputs.slice(1)).toEqual(accounts.slice(0, 6))
    batches.begun[1]?.end()
    expect((await batches.settle()).inputs.slice(7)).toEqual(['g'])
  })

  test('a call set aside twice runs alone, before later ones', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'a2', 'a3'])
    await batches.settle()
    batches.begun[0]?.end({ a2: 'aside', a3: 'aside' })
    await batches.settle()
    batches.begun[1]?.end({ a2: 'aside', a3: 'aside' })
    await batches.settle()
    batches.begun[2]?.end()
    await batches.settle()
    batches.begun[3]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1 a2 a3', 'a2 a3', 'a2', 'a3'])
    expect(settled).toEqual(['did a1', 'did a2', 'did a3'])
  })

  test('after a failed batch, only the bad call fails', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'b1', 'a2', 'a3'])
    await batches.settle()
    batches.begun[0]?.fail()
    expect((await batches.settle()).inputs.slice(1)).toEqual(['a1', 'b1'])
    batches.begun[1]?.fail()
    batches.begun[2]?.end()
    await batches.settle()
    batches.begun[3]?.end()
    await batches.settle()
    batches.begun[4]?.end({ a3: { error: new Error('refused') } })
    expect((await batches.settle()).inputs.slice(3)).toEqual(['a2', 'a3'])
    expect(settled).toEqual(['failed a1', 'did b1', 'did a2', 'refused'])
  })
})
