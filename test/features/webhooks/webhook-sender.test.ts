import type { ServerResponse } from 'node:http'
import type { LookupFunction } from 'node:net'
import { expect, test } from 'vitest'
import { openWebhookSender } from '../../../src/features/webhooks/webhook-sender.ts'
import { publicLookup } from '../../../src/outgoing/public-lookup.ts'
import { Receiver } from './receiver.ts'

/** Number of deliveries that the runner sends at once. */
const AT_ONCE = 64

/** Test names and their addresses. */
function namesOf(addresses: readonly string[]): LookupFunction {
  return (_name, _options, callback) =>
    callback(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
}

function posted(url: string) {
  return { url, headers: {}, body: '{}', signal: new AbortController().signal }
}

test.each([['10.0.0.1'], ['127.0.0.1'], ['169.254.169.254'], ['::1'], ['fd00::1'], ['93.184.215.14', '127.0.0.1']])(
  'a name with address %s receives no request',
  async (...addresses) => {
    await using receiver = await new Receiver().start()
    const sender = openWebhookSender({ allowPrivate: false, lookup: publicLookup(namesOf(addresses)) })
    try {
      const url = receiver.url.replace('127.0.0.1', 'hook.test')
      const refusal = { code: 'UNAVAILABLE', message: 'the receiver could not be reached' }
      await expect(sender.send(posted(url))).rejects.toMatchObject(refusal)
      await expect(sender.send(posted(receiver.url))).rejects.toMatchObject(refusal)
      expect(receiver.received).toEqual([])
    } finally {
      await sender.close()
    }
  },
)

test('an answer is its status, whatever its coding', async () => {
  await using receiver = await new Receiver().start()
  receiver.answer = response => void response.writeHead(200, { 'content-encoding': 'compress' }).end('x')
  const sender = openWebhookSender({ allowPrivate: true })
  try {
    expect(await sender.send(posted(receiver.url))).toBe(200)
  } finally {
    await sender.close()
  }
})

test('an answer is its status, and an unreachable address is an error', async () => {
  const receiver = await new Receiver().start()
  receiver.answer = response => {
    const flood = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    }
    response
      .writeHead(202)
      .on('drain', flood)
      .on('error', () => undefined)
    flood()
  }
  const sender = openWebhookSender({ allowPrivate: true })
  try {
    expect(await sender.send(posted(receiver.url))).toBe(202)
    const { url } = receiver
    await receiver[Symbol.asyncDispose]()
    const refusal = { code: 'UNAVAILABLE', message: 'the receiver could not be reached' }
    await expect(sender.send(posted(url))).rejects.toMatchObject(refusal)
  } finally {
    await sender.close()
  }
})

test('a slow delivery delays no other delivery to its host', async () => {
  await using receiver = await new Receiver().start()
  const waiting: ServerResponse[] = []
  receiver.answer = response => {
    if (waiting.push(response) === AT_ONCE) for (const open of waiting) open.writeHead(204).end()
  }
  const sender = openWebhookSender({ allowPrivate: true })
  try {
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => sender.send(posted(receiver.url))))
    expect(statuses).toEqual(Array(AT_ONCE).fill(204))
  } finally {
    await sender.close()
  }
})
