import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { median } from '../report.ts'
import type { Call } from '../services/service.ts'
import type { Hammering, Load, Transfer } from './load.ts'

/** Sends a number of requests from this process, which takes about as much processor time as a small server. */
export async function hammerWithNode(hammering: Hammering): Promise<Load> {
  const { calls, connections, count, formBytes, status } = hammering
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const times: number[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let turn = next++; turn < count; turn = next++) {
      const call = calls[turn % calls.length]
      if (call === undefined) throw new Error('there are no calls to make')
      const began = performance.now()
      await ask(agent, call, formBytes === undefined ? undefined : randomBytes(formBytes), status)
      times.push(performance.now() - began)
    }
  }
  const started = performance.now()
  try {
    await Promise.all(Array.from({ length: connections }, work))
  } finally {
    agent.destroy()
  }
  const seconds = (performance.now() - started) / 1_000
  return { client: 'node', done: count, seconds, medianMs: median(times) }
}

/**
 * Makes the same call once for each file, sent as a form, over some connections. @param onDone called with the
 * milliseconds of each request
 */
export async function askAll(
  call: Call,
  files: Iterable<Uint8Array>,
  connections: number,
  onDone: (ms: number) => void = () => undefined,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const left = files[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      const began = performance.now()
      await ask(agent, call, next.value)
      onDone(performance.now() - began)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, work))
  } finally {
    agent.destroy()
  }
}

/** @throws Error for another status */
function ask(agent: Agent, { method, url, headers }: Call, bytes?: Uint8Array, status?: number): Promise<void> {
  const form = bytes === undefined ? undefined : smallForm(bytes)
  return new Promise((resolve, reject) => {
    const extra = form === undefined ? {} : { 'content-type': form.type, 'content-length': form.body.length }
    const outgoing = request(url, { method, agent, headers: { ...headers, ...extra } }, response => {
      const code = response.statusCode ?? 0
      const isRight = status === undefined ? code >= 200 && code < 300 : code === status
      response.resume().once('error', reject)
      response.once('end', () => (isRight ? resolve() : reject(new Error(`${method} ${url} was answered ${code}`))))
    })
    outgoing.once('error', reject)
    outgoing.end(form?.body)
  })
}

function smallForm(bytes: Uint8Array): { type: string; body: Buffer } {
  const boundary = `bench-${randomBytes(8).toString('hex')}`
  const head =
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="bench.bin"\r\n` +
    'content-type: application/octet-stream\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}

/** @throws Error for an unsuccessful answer */
export async function sendWithNode({ method, url, headers }: Call, file: string, type: string): Promise<Transfer> {
  const { size: bytes } = await stat(file)
  const began = performance.now()
  const outgoing = request(url, { method, headers: { ...headers, 'content-type': type, 'content-length': bytes } })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  const [[response]] = await Promise.all([answered, pipeline(createReadStream(file), outgoing)])
  const body = await text(response)
  const status = response.statusCode ?? 0
  if (status < 200 || status >= 300) throw new Error(`${method} ${url} was answered ${status}: ${body.slice(0, 300)}`)
  return { seconds: (performance.now() - began) / 1_000, bytes, body }
}

/** Reads and discards an answer. @throws Error for an unsuccessful answer */
export async function readWithNode(from: Call): Promise<Transfer> {
  const began = performance.now()
  const response = await fetch(from.url, { method: from.method, headers: from.headers })
  if (!response.ok || response.body === null) throw new Error(`GET ${from.url} was answered ${response.status}`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  return { seconds: (performance.now() - began) / 1_000, bytes, body: '' }
}
