import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audits } from './audits.ts'
import { hosts, openWorld } from './hosts.ts'

test('audits have unique ids and begin with MUST or SHOULD', () => {
  expect(new Set(audits.map(({ id }) => id)).size).toBe(audits.length)
  expect(audits.filter(({ name }) => !/^(MUST|SHOULD) /.test(name))).toEqual([])
})

describe.each(hosts.map(host => ({ host, name: host.name })))('the contract, $name', ({ host }) => {
  let world: Awaited<ReturnType<typeof openWorld>>

  beforeAll(async () => {
    world = await openWorld(host)
  })
  afterAll(() => world.close())

  for (const audit of audits) test(`${audit.id}: ${audit.name}`, () => audit.run(world))
})
