import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import type { CID } from 'multiformats/cid'
import { KuboBackend } from '../../../adapters/kubo/kubo-backend.ts'
import { KuboRpc } from '../../../adapters/kubo/kubo-rpc.ts'
import { RpcReader } from '../../../adapters/kubo/rpc-reader.ts'
import { type HttpClient, openHttpClient } from '../../../adapters/remote/http-client.ts'
import { CheckedSource } from '../../../src/content/block-source.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { type BackendUnderTest, keptFromOutside } from '../../clusters/backend.suite.ts'
import { findKubo } from '../../interop/kubo.ts'
import { makeKubo, placesOf, TOKEN } from '../../support/kubo.ts'
import { needs } from '../../support/needs.ts'
import { readExchanges, recordExchanges, replayExchanges, writeExchanges } from '../../support/recorded-exchanges.ts'
import { withTempDir } from '../../support/temp-dir.ts'

export const MARK = 'holdfast:0123456789abcdef'
const FILE = join(import.meta.dirname, 'exchanges.jsonl')
const isRecording = process.env.HOLDFAST_RECORD === '1'
const binary = findKubo()

/** Options of tests on a real Kubo, and of tests on recorded answers. */
export const onRealKubo = {
  timeout: 180_000,
  ...needs(binary !== null, 'there is no "ipfs" on PATH, and HOLDFAST_TEST_IPFS names none'),
}
export const onRecorded = needs(!isRecording, 'exchanges are being recorded')

/** The addresses of a Kubo. */
export interface Places {
  /** URL of the RPC API. */
  api: string
  /** URL of the gateway. */
  gateway: string
  /** Deletes the file of a block; with recorded answers, they include the loss. */
  lose(cid: CID): void
}

/** Runs with a Kubo that syncs, needs a token and stays offline. Removes it afterwards. */
export function withRealKubo<T>(use: (places: Places) => Promise<T>): Promise<T> {
  return withTempDir(async dir => {
    const repository = join(dir, 'repository')
    const kubo = await makeKubo(binary ?? '', repository)
    try {
      await kubo.start()
      const { api, gateway } = placesOf(repository)
      const lose = (cid: CID): void => {
        const key = base32upper.encode(cid.multihash.bytes).slice(1)
        unlinkSync(join(repository, 'blocks', key.slice(-3, -1), `${key}.data`))
      }
      return await use({ api, gateway, lose })
    } finally {
      await kubo.stop()
    }
  })
}

/** Runs on a real Kubo, and records the answers if the environment asks for it. */
export async function onReal(test: string, use: (places: Places) => Promise<void>): Promise<void> {
  await withRealKubo(async places => {
    if (!isRecording) return use(places)
    const { api, gateway, lose } = places
    await using recorder = await recordExchanges(path => (path.startsWith('/api/') ? api : gateway))
    await use({ api: recorder.base, gateway: recorder.base, lose })
    writeExchanges(FILE, test, recorder.exchanges)
  })
}

/** Runs on the answers recorded for the same test. */
export async function onReplay(test: string, use: (places: Places) => Promise<void>): Promise<void> {
  const exchanges = readExchanges(FILE, test)
  if (exchanges.length === 0) throw new Error(`nothing was recorded of: ${test}`)
  await using replay = await replayExchanges(exchanges)
  try {
    await use({ api: replay.base, gateway: replay.base, lose: () => undefined })
  } catch (error) {
    if (replay.unknown.length === 0) throw error
    throw new Error(`never recorded: ${replay.unknown.join('; ')}`, { cause: error })
  }
  if (replay.unknown.length > 0) throw new Error(`never recorded: ${replay.unknown.join('; ')}`)
  if (replay.left().length > 0) throw new Error(`nobody asked: ${replay.left().join('; ')}`)
}

export type Lies = (right: HttpClient) => Pick<HttpClient, 'send' | 'stream'>

/** Runs with a backend and its own HTTP client. */
export async function withBackend(
  { api }: Pick<Places, 'api'>,
  run: (backend: KuboBackend) => Promise<void>,
  {
    lies = right => right,
    mark = MARK,
    token = TOKEN,
    acceptUnsynced = false,
  }: { lies?: Lies; mark?: string; token?: string; acceptUnsynced?: boolean } = {},
): Promise<void> {
  const http = openHttpClient()
  const clock = systemClock
  try {
    const rpc = new KuboRpc({ url: api, authorization: `Bearer ${token}`, http: lies(http), clock })
    const reader = new CheckedSource(new RpcReader(rpc))
    await run(new KuboBackend({ rpc, mark, reader, clock, acceptUnsynced }))
  } finally {
    await http.close()
  }
}

/** Sends a request as the owner of the Kubo. Returns an object for each line. */
export async function ask(api: string, path: string): Promise<Array<Record<string, unknown>>> {
  const answer = await fetch(`${api}/api/v0/${path}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return lines.map(line => JSON.parse(line) as Record<string, unknown>)
}

/** Pinned in every repository from the start. */
const EMPTY_DIRECTORY = 'QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn'

/** Returns the names of recursive pins, by CID. */
export async function pinsOf(api: string): Promise<Record<string, string>> {
  const pins = await ask(api, 'pin/ls?type=recursive&names=true&stream=true')
  const named = pins.map(({ Cid, Name }) => [String(Cid), String(Name ?? '')] as const)
  return Object.fromEntries(named.filter(([cid]) => cid !== EMPTY_DIRECTORY))
}

/** Returns the number of blocks after garbage collection, without those of an empty repository. */
export async function blocksOf(api: string): Promise<number> {
  await ask(api, 'repo/gc')
  const blocks = await ask(api, 'refs/local')
  const ours = Object.values(await pinsOf(api)).filter(name => name.startsWith('holdfast:'))
  // Do not count the empty directory and the hold blocks.
  return blocks.length - 1 - ours.length
}

export function underTest(backend: KuboBackend, { api }: Pick<Places, 'api'>): BackendUnderTest {
  return { ...keptFromOutside(backend), collect: () => blocksOf(api) }
}
