import assert from 'node:assert/strict'
import { AUDIT_VISITED, type AuditFilter, type AuditRow, type NewAuditEntry } from '../../../src/catalogue/index.ts'
import { type ContentRule, NOW } from '../../catalogue/content-support.ts'
import type { Broken } from '../../catalogue/content-wrong.ts'
import type { ContentCatalogue } from '../../catalogue/memory-catalogue.ts'

const ANY: AuditFilter = { from: 0, until: Number.MAX_SAFE_INTEGER }
const KEEP = { oldest: 0, mostEntries: 10_000 }

function entry(key: string, more: Partial<NewAuditEntry> = {}): NewAuditEntry {
  return {
    ...{ key, more: 0, createdAt: NOW, lastAt: NOW, times: 1, actor: 'account', accountId: 'one', credential: 'key' },
    ...{ credentialId: 'k1', address: '192.0.2.1', action: 'key.create', outcome: 'ok', subject: key, ...more },
  }
}

/** Returns the subjects of all pages, and the number of pages. */
async function walk({ audit }: ContentCatalogue, filter: Partial<AuditFilter>, limit = 2): Promise<[string[], number]> {
  const subjects: string[] = []
  let pages = 0
  for (let after: string | null | undefined; after !== null; pages++) {
    const page: { rows: AuditRow[]; next: string | null } = await audit.list(
      { ...ANY, ...filter },
      { after: after ?? null, limit },
    )
    assert.ok(page.rows.length <= limit)
    subjects.push(...page.rows.map(({ subject }) => String(subject)))
    after = page.next
  }
  return [subjects, pages]
}

/** Tests of the audit log that every catalogue must pass. */
export const auditRules: readonly ContentRule[] = [
  {
    name: 'lists audit entries newest first, by each filter and by several',
    async run(catalogue) {
      const { audit } = catalogue
      await audit.add([entry('a', { createdAt: 1 }), entry('b', { createdAt: 3, accountId: 'two' })], KEEP, true)
      await audit.add([entry('c', { createdAt: 2, action: 'key.revoke', accountId: null })], KEEP, false)
      await audit.add([entry('d', { createdAt: 3, outcome: 'CONFLICT' })], KEEP, true)
      assert.deepEqual((await walk(catalogue, {}))[0], ['d', 'b', 'c', 'a'])
      assert.deepEqual((await walk(catalogue, { from: 2, until: 3 }))[0], ['c'])
      assert.deepEqual((await walk(catalogue, { accountId: 'one' }, 1))[0], ['d', 'a'])
      assert.deepEqual((await walk(catalogue, { action: 'key.revoke' }))[0], ['c'])
      assert.deepEqual((await walk(catalogue, { outcome: 'CONFLICT' }))[0], ['d'])
      assert.deepEqual((await walk(catalogue, { accountId: 'one', action: 'key.create', outcome: 'ok' }))[0], ['a'])
      assert.deepEqual((await walk(catalogue, { accountId: 'nobody' }))[0], [])
      const { rows } = await audit.list({ ...ANY, accountId: 'two' }, { after: null, limit: 9 })
      const { key: _, more: __, ...stored } = entry('b', { createdAt: 3, accountId: 'two' })
      assert.deepEqual(rows, [{ ...stored, id: rows[0]?.id, email: 'two@test' }])
    },
  },
  {
    name: 'visits a limited number of audit entries for a page with several filters',
    async run(catalogue) {
      const many = Array.from({ length: AUDIT_VISITED + 1 }, (_, i) => entry(`n${i}`, { createdAt: 10 + i }))
      await catalogue.audit.add([entry('first', { createdAt: 1, outcome: 'CONFLICT' })], KEEP, true)
      await catalogue.audit.add(many, KEEP, false)
      assert.deepEqual(await walk(catalogue, { action: 'key.create', outcome: 'CONFLICT' }), [['first'], 2])
      assert.equal((await walk(catalogue, { action: 'key.create', accountId: 'one' }, 500))[0].length, many.length + 1)
    },
  },
  {
    name: 'counts audit entries with the same key in one entry',
    async run({ audit }) {
      const shared = entry('shared', { actor: 'stranger', times: 2, more: 2, subject: null })
      await audit.add([shared], KEEP, false)
      await audit.add([{ ...shared, createdAt: NOW + 5, lastAt: NOW + 9, times: 3, more: 3 }], KEEP, false)
      for (const _ of [1, 2]) await audit.add([entry('own', { createdAt: 1 })], KEEP, true)
      const { rows } = await audit.list(ANY, { after: null, limit: 9 })
      const shown = rows.map(({ createdAt, lastAt, times }) => [createdAt, lastAt, times])
      assert.deepEqual(shown, [
        [NOW, NOW + 9, 5],
        [1, NOW, 1],
      ])
    },
  },
  {
    name: 'deletes audit entries by age, and by number for each kind of actor',
    async run(catalogue) {
      const { audit } = catalogue
      await audit.add([entry('boss', { actor: 'owner' }), entry('old', { createdAt: 1 })], KEEP, true)
      for (let i = 0; i < 9; i++) {
        const retention = { oldest: 2, mostEntries: 3 }
        await audit.add([entry(`s${i}`, { actor: 'stranger' }), entry(`a${i}`)], retention, false)
      }
      const [subjects] = await walk(catalogue, {})
      assert.deepEqual(subjects.toSorted(), ['a6', 'a7', 'a8', 'boss', 's6', 's7', 's8'])
    },
  },
]

/** Audit logs with one fault each, and the rules that must detect it. */
export const wrongAudit: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'lists audit entries of every account',
    ({ audit }) => ({
      audit: { ...audit, list: (filter, page) => audit.list({ ...filter, accountId: undefined }, page) },
    }),
    [/^lists audit entries/],
  ],
  [
    'ends a list of audit entries at its first page',
    ({ audit }) => ({
      audit: { ...audit, list: async (...asked) => ({ ...(await audit.list(...asked)), next: null }) },
    }),
    [/^visits a limited/, /^lists audit entries/],
  ],
  [
    'counts a repeated audit entry twice',
    ({ audit }) => ({
      audit: {
        ...audit,
        add: (entries, ...rest) =>
          audit.add(
            entries.map(one => ({ ...one, more: one.times })),
            ...rest,
          ),
      },
    }),
    [/^counts audit entries/],
  ],
  [
    'lets strangers evict audit entries of others',
    ({ audit }) => ({
      audit: {
        ...audit,
        add: (entries, ...rest) =>
          audit.add(
            entries.map(one => ({ ...one, actor: 'account' as const })),
            ...rest,
          ),
      },
    }),
    [/^deletes audit entries/],
  ],
]
