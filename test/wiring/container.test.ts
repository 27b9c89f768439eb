import { describe, expect, test } from 'vitest'
import { Modules } from '../../src/wiring/container.ts'

function recorded(told: string[], name: string, fails = false) {
  return {
    start: async (): Promise<void> => {
      told.push(`start ${name}`)
      if (fails) throw new Error(`${name} cannot start`)
    },
    stop: async (): Promise<void> => {
      told.push(`stop ${name}`)
    },
  }
}

type Recorded = ReturnType<typeof recorded>

function three(told: string[], failing?: string) {
  const modules = new Modules<Record<string, Pick<Recorded, 'stop'>>>()
  for (const name of ['a', 'b', 'c']) modules.add(name, [], () => recorded(told, name, name === failing))
  return modules
}

describe('the modules of an engine', () => {
  test('start in order and stop in reverse order', async () => {
    const told: string[] = []
    const modules = three(told)
    await modules.start()
    await modules.stop()
    await modules.stop()
    expect(told).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  })

  test('are stopped only if they were started', async () => {
    const told: string[] = []
    const modules = three(told, 'b')
    await expect(modules.start()).rejects.toThrow('b cannot start')
    await modules.stop()
    expect(told).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  test('are all stopped, even if one fails to stop', async () => {
    const told: string[] = []
    const modules = three(told)
    modules.add('broken', [], () => ({ stop: () => Promise.reject(new Error('broken cannot stop')) }))
    await modules.start()
    await expect(modules.stop()).rejects.toThrow('broken cannot stop')
    expect(told.slice(3)).toEqual(['stop c', 'stop b', 'stop a'])
  })

  test('are made once, after the modules that they need', () => {
    const modules = new Modules<{ one: object; other: { one: object } }>()
    modules.add('one', [], () => ({}))
    modules.add('other', ['one'], made => made)
    expect(modules.made('other').other.one).toBe(modules.made('one').one)
  })

  test('cannot need a module that is added later', () => {
    const modules = new Modules<{ one: object; other: object }>()
    expect(() => modules.add('one', ['other'], made => made)).toThrow('one needs other, which is added later')
  })
})
