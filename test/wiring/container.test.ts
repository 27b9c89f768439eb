import { describe, expect, test } from 'vitest'
import { Modules, token } from '../../src/wiring/container.ts'

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

function three(told: string[], failing?: string) {
  const modules = new Modules()
  const order = ['a', 'b', 'c'].map(name => {
    const made = token<ReturnType<typeof recorded>>(name)
    modules.provide(made, () => recorded(told, name, name === failing))
    return made
  })
  return { modules, order }
}

describe('the modules of an engine', () => {
  test('start in order and stop in reverse order', async () => {
    const told: string[] = []
    const { modules, order } = three(told)
    await modules.start(order)
    await modules.stop()
    await modules.stop()
    expect(told).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  })

  test('are stopped only if they were started', async () => {
    const told: string[] = []
    const { modules, order } = three(told, 'b')
    await expect(modules.start(order)).rejects.toThrow('b cannot start')
    await modules.stop()
    expect(told).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  test('are all stopped, even if one fails to stop', async () => {
    const told: string[] = []
    const { modules, order } = three(told)
    const broken = token<{ stop(): Promise<void> }>('broken')
    modules.provide(broken, () => ({ stop: () => Promise.reject(new Error('broken cannot stop')) }))
    await modules.start([...order, broken])
    await expect(modules.stop()).rejects.toThrow('broken cannot stop')
    expect(told.slice(3)).toEqual(['stop c', 'stop b', 'stop a'])
  })

  test('are made once, and report a cycle', () => {
    const [one, other, third] = [token<object>('one'), token<object>('other'), token<object>('third')]
    const modules = new Modules()
    modules.provide(one, m => ({ other: m.get(other) }))
    modules.provide(other, m => ({ one: m.get(one) }))
    modules.provide(third, () => ({}))
    expect(modules.get(third)).toBe(modules.get(third))
    expect(() => modules.get(one)).toThrow('modules need each other: Symbol(one) > Symbol(other) > Symbol(one)')
  })

  test('cannot get another module after they are made', () => {
    const [one, other] = [token<() => object>('one'), token<object>('other')]
    const modules = new Modules()
    modules.provide(one, m => () => m.get(other))
    modules.provide(other, m => ({ one: m.get(one) }))
    modules.get(other)
    expect(() => modules.get(one)()).toThrow('Symbol(one) requests Symbol(other) after it was made')
  })
})
