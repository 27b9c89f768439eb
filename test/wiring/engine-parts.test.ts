import { expect, test } from 'vitest'
import type { Engine } from '../../src/index.ts'
import { withEngine } from '../support/test-engine.ts'

const PARTS: Array<keyof Engine> = ['takedowns', 'nodes', 'clusters', 'pins', 'accounts', 'keys', 'content', 'events']
PARTS.push('jobs') // feature: bulk

test('parts of an engine can be awaited, returned and written as JSON', async () => {
  await withEngine(async ({ engine }) => {
    const part = async (name: keyof Engine) => engine[name]
    // An await of an object with a `then` that answers nothing would never end.
    for (const name of PARTS) expect(Reflect.get(Object(engine[name]), 'then'), String(name)).toBeUndefined()
    for (const name of PARTS) expect(await part(name), String(name)).toBe(engine[name])
    // An unhandled rejection of `toJSON` would fail the test.
    expect(JSON.parse(JSON.stringify(engine))).toMatchObject({ takedowns: {}, nodes: {} })
  })
})

test('an async listener that rejects is logged and ends no process', async () => {
  const logged = Promise.withResolvers<unknown>()
  const ignore = (): void => undefined
  const error = (fields: object, message: string): void => logged.resolve({ ...fields, message })
  const logger = { debug: ignore, info: ignore, warn: ignore, error }
  await withEngine(
    async ({ engine, account }) => {
      const failure = new Error('the database of the app is down')
      engine.events.on('pin:created', async () => {
        throw failure
      })
      await engine.pins.upload('some text', { account, name: 'note.txt' })
      expect(await logged.promise).toEqual({
        err: failure,
        event: 'pin:created',
        message: 'an event listener threw',
      })
    },
    { logger },
  )
})
