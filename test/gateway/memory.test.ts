import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { pseudoRandom } from '../support/bytes.ts'
import { needsLinux } from '../support/needs.ts'
import { ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'

const MIB = 1024 ** 2
const KEY = 'k'.repeat(40)
const READERS = 20

/** Resident memory of another process, in bytes. */
function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

async function upload(url: string, bytes: Uint8Array): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([Uint8Array.from(bytes)]), 'large.bin')
  const answer = await fetch(`${url}/api/v3/files`, { method: 'POST', headers: { 'x-api-key': KEY }, body: form })
  const { cid } = (await answer.json()) as { cid: string }
  return cid
}

async function open(url: string): Promise<IncomingMessage> {
  const outgoing = http.get(url, { agent: new http.Agent() })
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return incoming
}

test('many slow readers of a large file cost little memory', needsLinux, () =>
  withTempDir(async dataDir => {
    const first = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    const bytes = pseudoRandom(48 * MIB)
    const cid = await upload(first.url, bytes)
    await first.stop()
    const server = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    try {
      const url = `${server.url}/ipfs/${cid}`
      const warm = await fetch(url)
      expect(Buffer.from(await warm.arrayBuffer()).equals(bytes)).toBe(true)
      const before = residentBytes(server.pid)
      const readers = await Promise.all(Array.from({ length: READERS }, () => open(url)))
      let most = 0
      for (let round = 0; round < 10; round++) {
        for (const reader of readers) if (reader.read(64 * 1024) === null) await once(reader, 'readable')
        most = Math.max(most, residentBytes(server.pid))
      }
      for (const reader of readers) reader.destroy()
      expect((most - before) / MIB).toBeLessThan(100)
      expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
    } finally {
      await server.stop()
    }
  }),
)
