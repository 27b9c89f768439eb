/**
 * A small disk under one account that uploads and releases content in every way, while another account uploads a little.
 * As a program: `node test/torture/full-disk.ts <empty directory on a small disk> <seconds> [backup]` prints the number
 * of answers by account, request and status.
 */

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { createServer } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, type EngineOptions } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'

const MIB = 1024 ** 2
const FILE_BYTES = 8 * MIB
const LITTLE_BYTES = 2_000
const EXPIRES_MS = 3_000
export const WAYS = ['job', 'removal', 'expiry', 'refused', 'broken'] as const
export type Way = (typeof WAYS)[number]

interface Answer {
  status: number
  body: { uploadId?: string; cid?: string; code?: string }
}

export interface DiskLoop {
  engine: Engine
  /** Answers by account, request and status, such as `other upload 201`. A broken connection has the status 0. */
  counts: Map<string, number>
  /** The account that fills the disk uploads and releases 8 MB, then the other account uploads a little. */
  round(way: Way): Promise<void>
}

/**
 * Runs with a server whose data directory is on the disk. It collects garbage only for want of room. The quota is a
 * little more than one file.
 */
export async function withDiskLoop(
  disk: string,
  run: (loop: DiskLoop) => Promise<void>,
  more: Omit<EngineOptions, 'dataDir'> = {},
): Promise<void> {
  const limits = { timelock: true, clusters: '*', maxStorageBytes: FILE_BYTES + MIB, maxFileBytes: FILE_BYTES } as const
  const engine = await createEngine({
    dataDir: join(disk, 'data'),
    plans: { small: { ...limits, rateLimit: null, accountRateLimit: null } },
    gc: { graceSeconds: 3_600, intervalSeconds: 3_600 },
    bulk: { undoSeconds: 3_600 }, // feature: bulk
    ...more,
  })
  const server = createServer(engine)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const keyOf = async (email: string, plan: string): Promise<string> => {
    const { id } = await engine.accounts.create({ email, plan })
    const key = `${email}-0123456789abcdef0123456789abcdef`
    await engine.keys.adopt(id, 'loop', key)
    return key
  }
  try {
    const counts = new Map<string, number>()
    const keys = { filler: await keyOf('filler@x.org', 'small'), other: await keyOf('other@x.org', 'unlimited') }
    await run({ engine, counts, round: rounds(port, keys, counts) })
  } finally {
    server.close()
    server.closeAllConnections()
    await engine.stop()
  }
}

function rounds(port: number, keys: Record<'filler' | 'other', string>, counts: Map<string, number>) {
  let made = 0
  const ask = async (who: keyof typeof keys, what: string, sent: Omit<Sent, 'port' | 'key'>): Promise<Answer> => {
    const answer = await send({ port, key: keys[who], ...sent })
    const name = `${who} ${what} ${answer.status}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return answer
  }
  const release: Record<Way, (content: Buffer) => Promise<unknown>> = {
    job: async content => {
      const { status, body } = await ask('filler', 'upload', upload(content))
      if (status !== 201) return
      const json = { action: 'delete', ids: [body.uploadId] }
      const job = await ask('filler', 'job', { method: 'POST', path: '/api/v3/jobs', json })
      if (job.status !== 202) await ask('filler', 'removal', removal(body.cid))
    },
    removal: async content => {
      const { status, body } = await ask('filler', 'upload', upload(content))
      if (status === 201) await ask('filler', 'removal', removal(body.cid))
    },
    expiry: content => {
      const timelock = new Date(Date.now() + EXPIRES_MS).toISOString()
      return ask('filler', 'upload', upload(content, { timelock }))
    },
    refused: content => ask('filler', 'large upload', upload(Buffer.concat([content, Buffer.alloc(MIB)]))),
    broken: content => ask('filler', 'broken upload', { ...upload(content), breaksOff: true }),
  }
  return async (way: Way): Promise<void> => {
    const round = made++
    await release[way](pseudoRandom(FILE_BYTES, `large ${round}`))
    await ask('other', 'upload', upload(pseudoRandom(LITTLE_BYTES, `little ${round}`)))
  }
}

interface Sent {
  port: number
  key: string
  method: string
  path: string
  json?: object
  parts?: readonly Buffer[]
  /** True to break the connection off after most of the body. */
  breaksOff?: boolean
}

const BOUNDARY = 'loop'

/** A form without `Content-Length`, so that the server learns its length at its end. */
function upload(content: Buffer, fields: Readonly<Record<string, string>> = {}) {
  const head = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n`
  const parts = [Buffer.from(`${head.join('')}${file}`), content, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]
  return { method: 'POST', path: '/api/v3/files', parts }
}

function removal(cid = '') {
  return { method: 'DELETE', path: `/api/v3/files/remove/${cid}` }
}

function send({ port, key, method, path, json, parts = [], breaksOff = false }: Sent): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const type = json === undefined ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/json'
  const headers = { 'x-api-key': key, ...(method === 'DELETE' ? {} : { 'content-type': type }) }
  const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, response => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: response.statusCode ?? 0, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) })
    })
    response.on('error', () => resolve({ status: 0, body: {} }))
  })
  sent.on('error', () => resolve({ status: 0, body: {} }))
  if (breaksOff) {
    for (const part of parts.slice(0, -1)) sent.write(part)
    // The server has received most of the file when the socket has taken it.
    sent.once('drain', () => sent.destroy())
  } else {
    for (const part of parts) sent.write(part)
    sent.end(json === undefined ? undefined : JSON.stringify(json))
  }
  return promise
}

/** Runs with a backup that goes on until `run` has ended. */
export async function duringBackup(engine: Engine, directory: string, run: () => Promise<void>): Promise<void> {
  const abort = new AbortController()
  const { account } = await engine.accounts.ensureOwner()
  await engine.pins.upload(pseudoRandom(MIB, 'backed up'), { account: account.id })
  const backup = engine.backup(directory, { bytesPerSecond: 1, signal: abort.signal }).catch(() => undefined)
  // A backup notes its run once deletion is stopped.
  while (!existsSync(join(directory, 'unfinished.json'))) await setImmediate()
  await run()
  abort.abort()
  await backup
}

if (import.meta.main) {
  const [disk = '', seconds = '600', mode = ''] = process.argv.slice(2)
  await withDiskLoop(disk, async ({ engine, counts, round }) => {
    const until = Date.now() + Number(seconds) * 1_000
    const run = async (): Promise<void> => {
      for (let i = 0; Date.now() < until; i++) await round(WAYS[i % WAYS.length] ?? 'job')
    }
    await (mode === 'backup' ? duringBackup(engine, `${disk}-backup`, run) : run())
    console.log(Object.fromEntries([...counts].toSorted()))
  })
}
