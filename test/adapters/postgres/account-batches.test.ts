import { describe, expect, test } from 'vitest'
import { AccountBatches, type Outcome } from '../../../adapters/postgres/account-batches.ts'

const SMALL = { items: 1, bytes: 100 }

interface Batch {
  inputs: readonly string[]
  waits: boolean
  /** Ends the batch. Inputs without an outcome succeed. */
  end(outcomes?: Record<string, Outcome<string>>): void
  fail(): void
}

/** Batches that the test ends. An input names its account with its first letter. */
class Batches {
  readonly begun: Batch[] = []
  readonly #batches = new AccountBatches<string, string>((inputs, waits) => {
    const { promise, resolve, reject } = Promise.withResolvers<Array<Outcome<string>>>()
    this.begun.push({
      inputs,
      waits,
      end: (outcomes = {}) => resolve(inputs.map(input => outcomes[input] ?? { value: `did ${input}` })),
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

describe('batches of accounts', () => {
  test('calls that arrive while batches run share the next batch', async () => {
    const batches = new Batches()
    const settled = batches.add(['a1', 'b1'])
    await batches.settle()
    batches.add(['c1'])
    await batches.settle()
    batches.add(['d1', 'e1', 'd2'])
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1'])
    batches.begun[0]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1', 'd1 e1 d2'])
    expect(settled).toEqual(['did a1', 'did b1'])
  })

  test('calls of one account run in order, one batch at a time', async () => {
    const batches = new Batches()
    batches.add(['a1', 'a2'])
    await batches.settle()
    batches.add(['a3', 'b1', 'a4'])
    expect((await batches.settle()).inputs).toEqual(['a1 a2', 'b1'])
    batches.begun[0]?.end()
    expect((await batches.settle()).inputs).toEqual(['a1 a2', 'b1', 'a3 a4'])
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
    expect(batches.begun.slice(1).map(({ inputs }) => inputs.length)).toEqual([1, 46])
  })

  test('a batch has at most 1 MiB, and at least one call', async () => {
    const batches = new Batches()
    batches.add(['a1', 'b1', 'c1'], { items: 1, bytes: 400 * 1024 })
    expect((await batches.settle()).inputs).toEqual(['a1 b1', 'c1'])
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
