import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import { identityOf } from '../../src/ipld/cid.ts'
import { backendRules, describeBackend } from './backend.suite.ts'
import { type Held, heldKey, isSame, type MemoryParts, memoryBackend } from './memory-backend.ts'

describeBackend('in memory', run => run(memoryBackend()))

type Broken = (right: MemoryParts) => Partial<ClusterBackend>

/** Faulty backends, each with the rules that must detect its fault. */
const wrong: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'says pinned and has nothing',
    () => ({ pin: async () => undefined, status: async () => ({ state: 'pinned', allocations: [] }) }),
    [/^tells whether/, /^has nothing of a pin that fails/, /^gives blocks/],
  ],
  [
    'says pinned of whatever it is asked',
    () => ({ status: async () => ({ state: 'pinned', allocations: [] }) }),
    [/^tells whether/, /^keeps a DAG as long/, /^gives blocks/],
  ],
  [
    'forgets a DAG with the first of its holds',
    ({ backend, held }) => ({
      unpin: async (hold, dag) => {
        if (held.has(heldKey(hold, dag))) {
          for (const [other, kept] of held) if (isSame(kept.dag, dag)) held.delete(other)
        }
        await backend.unpin(hold, dag)
      },
    }),
    [/^keeps a DAG as long/, /^shares a DAG/],
  ],
  [
    'forgets what it has been given',
    ({ backend, blocks }) => ({
      pin: async job => {
        await backend.pin(job)
        blocks.delete([...blocks.keys()].at(-1) ?? '')
      },
    }),
    [/^tells whether/, /^keeps a DAG as long/, /^gives blocks/],
  ],
  [
    'takes a repeated pin for another one',
    ({ backend, held }) => ({
      pin: job =>
        backend.pin(held.has(heldKey(job.hold, identityOf(job.root))) ? { ...job, hold: `${job.hold} again` } : job),
    }),
    [/^keeps a DAG as long/],
  ],
  [
    'lets go without asking',
    ({ backend }) => ({ unpin: (hold, dag, signal) => backend.unpin(hold, dag, signal) }),
    [/^asks before it lets go/],
  ],
  [
    'takes one hold for another that is called the same',
    ({ backend, held }) => ({
      pin: async job => {
        if (![...held.values()].some(({ hold }) => hold === job.hold)) await backend.pin(job)
      },
    }),
    [/^lists what it keeps/],
  ],
  [
    'does not list all that it keeps',
    ({ backend }) => ({
      async *pins() {
        for await (const page of backend.pins?.() ?? []) {
          yield page
          return
        }
      },
    }),
    [/^lists what it keeps/],
  ],
  [
    'lists what it has let go of',
    ({ backend, held }) => {
      const ever = new Map<string, Held>()
      return {
        async *pins() {
          for (const [key, kept] of held) ever.set(key, kept)
          for (const { hold, dag } of ever.values()) yield [{ ...dag, hold, state: 'pinned' as const }]
        },
        unpin: (hold, dag) => backend.unpin(hold, dag),
      }
    },
    [/^lists what it keeps/],
  ],
  ['never lets go', () => ({ unpin: async () => undefined }), [/^keeps a DAG as long/, /^shares a DAG/]],
  [
    'keeps what has come of a pin that failed',
    ({ backend, held, blocks }) => ({
      pin: async job => {
        const kept = new Map<string, Uint8Array>()
        const source: BlockSource = {
          read: async cid => {
            const bytes = (await job.source?.read(cid)) ?? Buffer.of()
            kept.set(cid.toString(), bytes)
            return bytes
          },
        }
        await backend.pin({ ...job, source }).catch((error: unknown) => {
          for (const [key, bytes] of kept) blocks.set(key, bytes)
          const hold = `half of ${job.root}`
          held.set(hold, { hold, dag: identityOf(CID.parse('bafkqaaa')), blocks: kept })
          throw error
        })
      },
    }),
    [/^has nothing of a pin that fails/],
  ],
  [
    'says that a pin has failed as if it had not',
    ({ backend }) => ({ pin: job => backend.pin(job).catch(() => undefined) }),
    [/^has nothing of a pin that fails/],
  ],
  [
    'gives other bytes',
    ({ backend }) => ({
      reader: {
        read: async cid => {
          const bytes = Uint8Array.from((await backend.reader?.read(cid)) ?? [])
          const last = bytes.length - 1
          // Only leaves are this large.
          if (bytes.length > 100_000) bytes[last] = (bytes[last] ?? 0) ^ 1
          return bytes
        },
      },
    }),
    [/^gives blocks/],
  ],
]

describe('the rules detect a backend that', () => {
  const found = new Set<string>()
  test.each(wrong)('%s', async (_, broken, rules) => {
    const failed: string[] = []
    for (const { name, run } of backendRules.filter(({ name }) => rules.some(rule => rule.test(name)))) {
      await run(memoryBackend(broken)).catch(() => failed.push(name))
    }
    for (const rule of rules) {
      const isFound = failed.some(name => rule.test(name))
      expect(isFound, `${rule} in ${failed.join('; ')}`).toBe(true)
    }
    for (const name of failed) found.add(name)
  })

  test('breaks each of them', () => {
    expect(backendRules.map(({ name }) => name).filter(name => !found.has(name))).toEqual([])
  })
})
