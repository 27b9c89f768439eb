import { describe, expect, test } from 'vitest'
import { clusterAdapters } from '../../adapters/cli/cluster-adapters.ts'
import { clusterSchema } from '../../src/config/cluster-schema.ts'
import { configSchema } from '../../src/config/config-schema.ts'
import { planSchema } from '../../src/config/plan-schema.ts'
import { ADMIN_PATH, contractRoutes, routeGroups } from '../../src/contract/routes.ts'
import { ERROR_TABLE } from '../../src/http/error-codes.ts'
import { configRows } from '../../tools/config-text.ts'
import { generatedDocuments } from '../../tools/docs.ts'

const documents = generatedDocuments()

function textOf(path: string): string {
  return documents.get(path)?.is ?? ''
}

describe('what is made of the sources', () => {
  test.each([...documents])('%s is as `npm run docs` would write it', (_, { is, shouldBe }) => {
    expect(is).toBe(shouldBe)
  })

  test('every route and every code stands in a document', () => {
    const shown = (path: string): string => path.replace(/[:*](\w+)/g, '<$1>')
    for (const { method, path } of contractRoutes) {
      if (method !== '*')
        expect(textOf('docs/reference/http-api.md')).toContain(`| \`${method} ${shown(path) || '/'}\` |`)
    }
    for (const { method, path } of routeGroups.find(({ base }) => base === ADMIN_PATH)?.routes ?? []) {
      expect(textOf('docs/reference/command-line.md')).toContain(`| \`${method} ${ADMIN_PATH}${shown(path)}\` |`)
    }
    for (const code of Object.keys(ERROR_TABLE)) expect(textOf('docs/reference/errors.md')).toContain(`| \`${code}\` |`)
  })

  test('every field of the configuration says what it means and what holds without it', () => {
    const rows = [configSchema, clusterSchema, planSchema].flatMap(schema => configRows(schema))
    const adapters = clusterAdapters.flatMap(({ schema }) => configRows(schema))
    expect(rows.length).toBeGreaterThan(60)
    for (const [name, , meaning] of [...rows, ...adapters]) expect(meaning, name).toMatch(/\S/)
    const required = rows.filter(([, fallback]) => fallback === 'required').map(([name]) => name)
    expect(required).toEqual(['`id`', '`timelock`', '`clusters`'])
    for (const name of ['pin.maxDepth', 'network.peers']) {
      expect(textOf('docs/reference/configuration.md')).toContain(`| \`${name}\` |`)
    }
  })

  test('a code that the error table says is for operators alone is told to clients as INTERNAL_ERROR', () => {
    expect(textOf('docs/reference/errors.md')).toContain('| `DATA_DIR_IN_USE` | 500, as `INTERNAL_ERROR` |')
  })
})
