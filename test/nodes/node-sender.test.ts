import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openNodeClient } from '../../src/network/node-client.ts'
import { NodeSender, OF_THE_NODE } from '../../src/nodes/node-sender.ts'
import { ManualClock } from '../support/manual-clock.ts'

test('a node that stands still is waited for until it is taken for gone, whatever of the catalogue cannot be read', async () => {
  const clock = new ManualClock(0)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = openNodeClient()
  const said: Array<'there' | 'gone' | 'nothing'> = ['there', 'there', 'nothing', 'there', 'gone']
  const known = async () => {
    const next = said.shift()
    if (next === 'nothing') throw new Error('no catalogue')
    return [{ id: 'still', url, isThere: next === 'there' }]
  }
  const sender = new NodeSender({ self: 'asking', known, client, secret: new Uint8Array(32), clock })
  const request = { method: 'POST', target: '/', headers: {}, body: null, signal: new AbortController().signal }
  try {
    const answer = sender.send('still', { ...request, client: OF_THE_NODE })
    answer.catch(() => undefined)
    await asked
    while (said.length > 0) {
      clock.advance(5_000)
      await new Promise(resolve => setImmediate(resolve))
    }
    await expect(answer).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  } finally {
    await client.close()
    server.closeAllConnections()
    server.close()
  }
})
