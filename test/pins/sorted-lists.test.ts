import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FilledEngine, filledStore } from '../../bench/list/filled-engine.ts'
import { temporaryDirectory } from '../support/server-process.ts'

const MOST = 10_000

const directory = temporaryDirectory()
let filled: FilledEngine

beforeAll(async () => {
  filled = await filledStore(directory.path, MOST, 1)
})

afterAll(async () => {
  await filled.engine.stop()
  directory.remove()
})

test('the largest list is sorted by name, across pages', async () => {
  const { engine, account } = filled
  const names: (string | null)[] = []
  for (let page = 1; page <= MOST / 1_000; page++) {
    const { items, total } = await engine.pins.list({ account, sort: 'name', limit: 1_000, page })
    expect(total).toBe(MOST)
    names.push(...items.map(({ name }) => name))
  }
  expect(new Set(names).size).toBe(MOST)
  expect(names).toEqual(names.toSorted())
  expect((await engine.pins.list({ account, sort: '-name', limit: 1 })).items[0]?.name).toBe(names.at(-1))
})

test('a list returned without pages has the same order', async () => {
  const { engine, account } = filled
  const sizes: number[] = []
  for await (const { size } of engine.pins.all({ account, sort: 'size', q: 'needle' })) sizes.push(size)
  expect(sizes).toHaveLength(10)
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
})

test('a longer list is refused, unless a filter narrows it', async () => {
  const { engine, account } = filled
  await engine.pins.upload('one more needle', { account, name: 'needle of another kind' })
  await expect(engine.pins.list({ account, sort: 'size' })).rejects.toMatchObject({
    code: 'VALIDATION',
    message: expect.stringContaining('at most 10,000 records'),
  })
  const { items, total } = await engine.pins.list({ account, sort: '-name', q: 'needle', limit: 2 })
  expect([total, items[0]?.name]).toEqual([11, 'needle of another kind'])
})
