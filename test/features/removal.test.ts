import { globSync } from 'node:fs'
import { appendFile, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { fillFeatures, rowsOf, seenOf } from './support/feature-rows.ts'
import { RemovedTree } from './support/removed-tree.ts'

/** Words that only the code of a feature uses. */
const WORDS: Readonly<Record<string, RegExp>> = {
  audit: /audit[ -]log|auditLog|AuditEntry|AuditStore|AuditView|exportAudit|\/v1\/audit\b/i,
  bulk: /BulkJob|BulkService|\bengine\.jobs|client\.jobs|JobList|JobsView|'\/jobs|holdfast job |'job (ls|list|delete|edit|undo)|JOB_C|JobRequest/,
  psa: /\bpsa\b|pinning service API/i,
  routing: /gateway\.routing|routing\/v1|delegated.?rout/i,
  'url-uploads': /url-?uploads?|fromUrl|url-form/i,
  webhooks: /webhook|deliver(y|ies)\b/i,
}
/** A file of the core. */
const CORE = 'src/pins/pin-service.ts'
const LONGEST_MS = 600_000
const ROOT = join(import.meta.dirname, '../..')

test('every feature is removed in a test', () => {
  const rooms = globSync('src/features/*/', { cwd: ROOT }).map(path => path.replaceAll('\\', '/').split('/')[2])
  expect(Object.keys(WORDS).sort()).toEqual(rooms.sort())
})

describe('a tree without a feature', { timeout: LONGEST_MS }, () => {
  const table: object[] = []
  let filled: { dataDir: string; key: string; remove(): void }

  beforeAll(async () => {
    filled = await new Promise((started, failed) => {
      withTempDir(async dataDir => {
        const key = await fillFeatures(dataDir)
        await new Promise<void>(remove => started({ dataDir, key, remove }))
      }).catch(failed)
    })
  }, LONGEST_MS)
  afterAll(() => {
    filled?.remove()
    console.table(table)
  })

  test.each(Object.entries(WORDS))(
    '%s: compiles, starts, passes its audits and loses no row',
    async (feature, words) => {
      await withTempDir(async root => {
        const seconds: Record<string, number> = {}
        const timed = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
          const began = performance.now()
          const result = await work()
          seconds[step] = Math.round((performance.now() - began) / 100) / 10
          return result
        }
        const { marks } = await timed('all', async () => {
          const tree = await timed('copy', () => RemovedTree.of(feature, root))
          expect(tree.linesWith(words)).toEqual([])
          const [types, page, unused, audits] = await Promise.all([
            timed('types', () => tree.typeFaults('tsconfig.json')),
            timed('page', () => tree.typeFaults('adapters/console/page')),
            timed('unused', () => tree.fault('tools/unused.ts')),
            timed('audits', () => tree.testFaults('test/contract/openapi.test.ts')),
            timed('server', () => keepsRows(tree, feature)),
          ])
          expect({ types, page, unused, audits }).toEqual({ types: '', page: '', unused: '', audits: '' })

          const [module = ''] = globSync(`src/features/${feature}/*.ts`, { cwd: ROOT })
          await appendFile(join(root, CORE), `import '../../${module}'\n`)
          expect(await timed('planted', () => tree.typeFaults('tsconfig.json'))).toContain(CORE)
          return tree
        })
        const count = [...marks.values()].reduce((sum, one) => sum + one, 0)
        table.push({ feature, files: marks.size, marks: count, ...seconds })
      })
    },
  )

  /** Starts the tree's server on rows of the feature, then the whole engine. */
  function keepsRows(tree: RemovedTree, feature: string): Promise<void> {
    return withTempDir(async dataDir => {
      await cp(filled.dataDir, dataDir, { recursive: true })
      const [before, seen] = [rowsOf(feature, dataDir), await seenOf(feature, dataDir, filled.key)]
      for (const rows of before) expect(rows).not.toEqual([])
      const server = await ServerProcess.start(dataDir, [], {}, LONGEST_MS, [], undefined, tree.main)
      try {
        await answers(server, tree)
      } finally {
        await server.stop()
      }
      const after = rowsOf(feature, dataDir)
      for (const [i, rows] of before.entries()) expect(after[i]).toEqual(expect.arrayContaining(rows))
      expect(await seenOf(feature, dataDir, filled.key)).toEqual(expect.arrayContaining(seen))
    })
  }

  async function answers({ url, api }: ServerProcess, tree: RemovedTree): Promise<void> {
    const form = new FormData()
    form.set('file', new Blob(['while it is removed']), 'file')
    const sent = await fetch(`${api}/files`, { method: 'POST', headers: { 'x-api-key': filled.key }, body: form })
    expect(sent.status).toBe(201)
    const page = await fetch(`${url}/console/`)
    expect(page.status).toBe(200)
    const modules = [...(await page.text()).matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(
      ([, path = '']) => path,
    )
    expect(modules.length).toBeGreaterThan(10)
    const statuses = modules.map(async path => (await fetch(new URL(path, `${url}/console/`))).status)
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]))
    expect(await tree.fault(tree.main, 'help')).toBe('')
  }
})
