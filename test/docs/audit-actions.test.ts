import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AUDIT_ACTIONS } from '../../src/access/audit-actions.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/security.md'), 'utf8')

test('the page on security lists every action of the audit log', () => {
  const [, table = ''] = /\| Subject \| Actions \|\n(.*?)\n\n/s.exec(page) ?? []
  const listed = [...table.matchAll(/`([a-z.-]+)`/g)].map(([, action]) => action)
  expect(listed.toSorted()).toEqual(AUDIT_ACTIONS.toSorted())
})
