import { randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { findProgram } from './programs.ts'
import { startNginx } from './services/nginx.ts'

const MIB = 1024 * 1024
const BYTES: Readonly<Record<Scale, number>> = { full: 512 * MIB, quick: 128 * MIB, tiny: MIB }
const REQUESTS: Readonly<Record<Scale, number>> = { full: 20_000, quick: 5_000, tiny: 50 }
const SMALL_BYTES = 4 * 1024

/** Measures each load client against nginx, whose own cost is negligible. */
async function run(options: RunOptions): Promise<Measurement[]> {
  const program = findProgram('nginx')
  if (program === null) throw new Error('nginx is not installed')
  const clients = clientsFor(options.scale)
  const nginx = await startNginx(program, options.dir, 1)
  const sink = await startSink()
  const values = new Map<string, { unit: string; values: number[] }>()
  const note = (client: string, metric: string, unit: string, value: number): void => {
    const key = `${client} ${metric}`
    values.set(key, { unit, values: [...(values.get(key)?.values ?? []), value] })
  }
  try {
    const large = join(nginx.files, 'large')
    await writeFile(large, randomFillSync(Buffer.alloc(BYTES[options.scale])))
    await writeFile(join(nginx.files, 'small'), randomFillSync(Buffer.alloc(SMALL_BYTES)))
    const to = (path: string, method = 'GET') => ({ method, url: `${nginx.url}/${path}`, headers: {} })
    const many = { connections: 16, seconds: 2, count: REQUESTS[options.scale] }
    for (let round = 0; round < options.rounds; round++) {
      options.signal.throwIfAborted()
      options.progress(`round ${round + 1} of ${options.rounds}`)
      const sent = await clients.send({ method: 'POST', url: sink.url, headers: {} }, large, 'application/octet-stream')
      note(sent.client, 'send', 'MB/s', sent.bytes / 1e6 / sent.seconds)
      const got = await clients.read(to('large'))
      note(got.client, 'receive', 'MB/s', got.bytes / 1e6 / got.seconds)
      const asked = await clients.hammer({ ...many, calls: [to('small')] })
      note(asked.client, 'requests', '/s', asked.done / asked.seconds)
      const formed = await clients.hammer({ ...many, calls: [to('sink', 'POST')], formBytes: SMALL_BYTES })
      note(formed.client, 'small-forms', '/s', formed.done / formed.seconds)
      const each = await clients.each(Array(REQUESTS[options.scale]).fill(to('small')), 8)
      note(each.client, 'each', '/s', each.done / each.seconds)
    }
  } finally {
    await sink.stop()
    await nginx.stop()
  }
  return [...values].map(([key, { unit, values }]) => {
    const [subject = '', metric = ''] = key.split(' ')
    return { subject, metric, unit, better: 'higher', values }
  })
}

/** Starts a server that reads and discards uploads. nginx would answer before it has read them. */
async function startSink(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export const clientsBench: Bench = {
  name: 'clients',
  minutes: 1,
  describe: scale =>
    `the load clients alone: ${BYTES[scale] / MIB} MiB sent to a bare server and received from nginx, files and forms of 4 KiB`,
  targets: [],
  run,
}
