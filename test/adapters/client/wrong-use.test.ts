import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { UploadSource } from '../../../adapters/client/index.ts'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { say, scriptedServer } from '../../support/scripted-server.ts'

const cid = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

describe('a stream of text', () => {
  const sources: [string, () => UploadSource][] = [
    ['of Node', () => Readable.from(['Grüße, ', 'Zoë\n'])],
    ['behind a size', () => ({ size: 4, stream: () => Readable.from(['12', '34']) })],
    ['of the web', () => new Blob(['text']).stream().pipeThrough(new TextDecoderStream()) as UploadSource],
  ]

  test.each(sources)('%s is refused, not sent as zeros', async (_, source) => {
    await using server = await scriptedServer(say(201, '{}'))
    const { files } = server.client
    const refused = { code: 'VALIDATION', message: 'the source must be a stream of bytes' }
    await expect(files.upload(source(), { name: 'greetings.txt' })).rejects.toMatchObject(refused)
    await expect(files.importCar(source())).rejects.toMatchObject(refused)
    const entries = [{ path: 'docs/greetings.txt', content: source() }]
    await expect(files.uploadDirectory(entries, { name: 'site' })).rejects.toMatchObject(refused)
  })
})

describe('a path with dots', () => {
  test('leads to no other route with a credential', async () => {
    await using server = await scriptedServer(say(404, '{}'), say(200, '{"uploads": []}'))
    for (const path of ['../../api/v3/users/me/uploads', 'docs/../../../api/v3/users/me', './index.html', '..']) {
      const refused = { code: 'INVALID_PATH' }
      await expect(server.client.content.file(`${cid}/${path}`)).rejects.toMatchObject(refused)
      await expect(server.client.content.archive(`/ipfs/${path}`, 'tar')).rejects.toMatchObject(refused)
    }
    expect(server.seen).toEqual([])
    await server.client.content.file(`${cid}/%2e%2e/..a/b..`)
    expect(server.seen).toContain(`GET /ipfs/${cid}/%252e%252e/..a/b..`)
  })

  test('is refused as an id', async () => {
    await using server = await scriptedServer(say(200, '{"name": "holdfast"}'))
    const { pins, keys, owner } = server.client
    const refused = { code: 'VALIDATION' }
    for (const id of ['.', '..', ' .. ', '', undefined as unknown as string]) {
      await expect(pins.status(id)).rejects.toMatchObject(refused)
      await expect(pins.remove(id)).rejects.toMatchObject(refused)
      await expect(keys.revoke(id)).rejects.toMatchObject(refused)
      await expect(owner.endSessions(id)).rejects.toMatchObject(refused)
    }
    expect(server.seen).toEqual([])
  })
})

test('wrong dates and several edits at once are rejections with a code', async () => {
  await using server = await scriptedServer(say(200, '{}'))
  const { client } = server
  const never = new Date('2031-02-30T25:00:00Z')
  const calls: [string, () => Promise<unknown>][] = [
    ['VALIDATION', () => client.pins.page(1, { before: never })],
    ['VALIDATION', () => client.owner.audit({ from: never })], // feature: audit
    // feature: bulk
    ['VALIDATION', () => client.jobs.deleteMatching({ createdBefore: never, expected: 12 })],
    ['INVALID_TIMELOCK', () => client.jobs.editRecords(['0mx3tfkfw000'], { timelock: never })],
    ['VALIDATION', () => client.jobs.editRecords(['0mx3tfkfw000'], { rename: { prefix: 'old ' }, cluster: 'cl1-eu' })],
    ['VALIDATION', () => client.jobs.editRecords(['0mx3tfkfw000'], {} as { cluster: string })],
    // end
  ]
  for (const [code, call] of calls) await expect(call()).rejects.toMatchObject({ code })
  expect(server.seen).toEqual([])
})

test('a refusal without a message keeps the HTTP status', async () => {
  await using server = await scriptedServer(say(404, '{"status": "fail", "error": {"reason": "no route"}}'))
  await expect(server.client.request('POST', '/x')).rejects.toMatchObject({
    message: 'no reason given (404)',
    details: { status: 404 },
  })
})

test('a signal ends waits of the client at once', async () => {
  const limited = say(429, '{"message": "slow down", "code": "RATE_LIMIT"}', { 'retry-after': '60' })
  await using server = await scriptedServer(limited)
  const waits: (() => void)[] = []
  const client = new HoldfastClient({ base: server.base, wait: () => new Promise(() => waits.pop()?.()) })
  const pin = { cid, clusterId: 'cl0-global', status: 'pinning' } as Parameters<typeof client.pins.untilPinned>[0]
  const job = { id: 'a', state: 'running' } as Parameters<typeof client.jobs.untilEnded>[0] // feature: bulk
  const calls: ((signal: AbortSignal) => Promise<unknown>)[] = [
    signal => client.request('GET', '/users/me', { signal }),
    signal => client.pins.untilPinned(pin, { signal }),
    signal => client.jobs.untilEnded(job, { signal }), // feature: bulk
  ]
  for (const call of calls) {
    const abort = new AbortController()
    const isWaiting = new Promise<void>(resolve => waits.push(resolve))
    const ended = expect(call(abort.signal)).rejects.toMatchObject({ code: 'ABORTED' })
    await isWaiting
    abort.abort()
    await ended
  }
})

test('a stream of a stalled server can be cancelled during a read', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await scriptedServer((_, response) => {
    response.writeHead(200, { 'content-length': '9', etag: '"x"' }).write('abc')
    response.on('close', closed.resolve)
  })
  for (const open of [
    async () => (await server.client.content.file(cid)).stream,
    () => server.client.content.archive(cid, 'car'),
  ]) {
    const reader = (await open()).getReader()
    await reader.read()
    const pending = reader.read()
    // The stream asks for bytes only after a turn.
    await setImmediate()
    await reader.cancel()
    expect(await pending).toMatchObject({ done: true })
    await closed.promise
  }
})
