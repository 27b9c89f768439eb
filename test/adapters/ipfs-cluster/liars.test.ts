import { AssertionError } from 'node:assert'
import { describe, expect, test } from 'vitest'
import type { HttpAnswer, HttpRequest } from '../../../adapters/remote/http-client.ts'
import { backendRules } from '../../clusters/backend.suite.ts'
import { onReal, onRealCluster, onRecorded, onReplay, type Reached, realCluster } from './reached.ts'
import { RushedClock } from './scripted-api.ts'
import { type Lies, withBackend } from './under-test.ts'

type Send = (request: HttpRequest) => Promise<HttpAnswer>
/** Returns a false answer, or null for the right one. */
type Lie = (request: HttpRequest, right: Send) => Promise<HttpAnswer | null>

const lying =
  (lie: Lie): Lies =>
  ({ send, stream }) => ({ send: async request => (await lie(request, send)) ?? send(request), stream })

const said = (value: unknown): HttpAnswer => ({ status: 200, text: JSON.stringify(value) })
const pathOf = ({ url }: HttpRequest): string => new URL(url).pathname
const isPinned = (request: HttpRequest): boolean => /^\/pins\/[^/]+$/.test(pathOf(request))

/** Stores nothing, and reports that three peers have every pin. */
function boaster(): Lies {
  const pins = new Map<string, object>()
  const peers = Object.fromEntries(['a', 'b', 'c'].map(id => [id, { status: 'pinned', error: '' }]))
  return lying(async request => {
    const { pathname, searchParams } = new URL(request.url)
    const cid = pathname.split('/').at(-1) ?? ''
    if (pathname === '/add') return said([{ cid: await rootIn(request) }])
    if (pathname === '/pins') {
      const asked = (searchParams.get('cids') ?? '').split(',')
      return said({ cid: asked[0], peer_map: peers })
    }
    if (pathname.startsWith('/allocations/')) {
      const pin = pins.get(cid)
      return pin === undefined ? null : said(pin)
    }
    if (request.method === 'DELETE') return pins.delete(cid) ? said({}) : null
    const metadata = Object.fromEntries([...searchParams].map(([key, value]) => [key.replace(/^meta-/, ''), value]))
    const factors = { replication_factor_min: 3, replication_factor_max: 3, origins: null }
    pins.set(cid, { cid, type: 'pin', name: '', metadata, ...factors })
    return said({})
  })
}

/** Returns the root of the CAR in a form. */
async function rootIn({ body }: HttpRequest): Promise<string> {
  const { decode } = await import('@ipld/dag-cbor')
  const pieces: Uint8Array[] = []
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    if (pieces.push(piece) === 2) break
  }
  const header = Buffer.from(pieces[1] ?? [])
  return String(decode<{ roots: unknown[] }>(header.subarray(1, 1 + (header[0] ?? 0))).roots[0])
}

/** Faults of an IPFS Cluster, with the rules that detect each. */
const wrong: ReadonlyArray<[what: string, lies: () => Lies, rules: RegExp[]]> = [
  [
    'never lets go',
    () => lying(async request => (request.method === 'DELETE' ? said({}) : null)),
    [/^tells whether/, /^keeps a DAG as long/],
  ],
  [
    'lets go with the first of its holds',
    () => {
      const pinned = new Set<string>()
      return lying(async (request, right) => {
        if (request.method !== 'POST' || !isPinned(request)) return null
        const holds = [...new URL(request.url).searchParams.keys()].filter(key => key.startsWith('meta-hold ')).length
        const isFewer = pinned.has(`${pathOf(request)} ${holds + 1}`)
        pinned.add(`${pathOf(request)} ${holds}`)
        const url = request.url.split('?')[0] ?? ''
        return isFewer ? right({ ...request, method: 'DELETE', url }) : null
      })
    },
    [/^shares a DAG/],
  ],
  ['says that it has taken what it has not', boaster, [/^has nothing of a pin that fails/, /^gives blocks/]],
  [
    'answers with what it has answered before',
    () => {
      const answers = new Map<string, HttpAnswer>()
      return lying(async (request, right) => {
        if (!pathOf(request).startsWith('/allocations/')) return null
        const answer = answers.get(request.url) ?? (await right(request))
        if (answer.status === 200) answers.set(request.url, answer)
        return answer
      })
    },
    [/^asks before it lets go/],
  ],
  [
    'lists nothing',
    () => {
      const nothing = async function* (): AsyncGenerator<Uint8Array> {}
      return ({ send }) => ({ send, stream: async () => ({ status: 200, body: nothing(), trailers: () => ({}) }) })
    },
    [/^lists what it keeps/],
  ],
]

describe('the rules detect an IPFS Cluster that', () => {
  const cluster = realCluster()
  for (const [what, lies, rules] of wrong) {
    for (const expected of rules) {
      const rule = backendRules.find(({ name }) => expected.test(name))
      const name = `one that ${what}: ${expected}`
      const run = (reached: Reached): Promise<void> => {
        if (rule === undefined) throw new AssertionError({ message: `there is no rule ${expected}` })
        const test = async (under: Parameters<typeof rule.run>[0]) => expect(rule.run(under)).rejects.toThrow()
        return withBackend(reached, test, { lies: lies(), clock: new RushedClock() })
      }
      test(`${what}: ${expected} (a real one)`, onRealCluster, () => onReal(cluster(), name, run))
      test(`${what}: ${expected} (recorded)`, onRecorded, () => onReplay(name, run))
    }
  }

  test('each rule detects a fault', () => {
    const found = (name: string) => wrong.some(([, , rules]) => rules.some(rule => rule.test(name)))
    expect(backendRules.map(({ name }) => name).filter(name => !found(name))).toEqual([])
  })
})
