import { describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { clusterSchema } from '../../src/config/cluster-schema.ts'
import { configSchema } from '../../src/config/config-schema.ts'
import { planSchema } from '../../src/config/plan-schema.ts'
import { ADMIN_PATH } from '../../src/contract/routes.ts'
import { allRoutes } from '../../src/features/all-routes.ts'
import { ERROR_TABLE } from '../../src/http/error-codes.ts'
import { configRows } from '../../tools/config-text.ts'
import { generatedDocuments } from '../../tools/docs.ts'

const documents = generatedDocuments()

function textOf(path: string): string {
  return documents.get(path)?.is ?? ''
}

describe('generated documents', () => {
  test.each([...documents])('%s is up to date (if not: npm run docs)', (_, { is, shouldBe }) => {
    expect(is).toBe(shouldBe)
  })

  test('list every route and every error code', async () => {
    const { contract, groups } = await allRoutes()
    const shown = (path: string): string => path.replace(/[:*](\w+)/g, '<$1>')
    for (const { method, path } of contract) {
      if (method !== '*')
        expect(textOf('docs/reference/http-api.md')).toContain(`| \`${method} ${shown(path) || '/'}\` |`)
    }
    for (const { method, path } of groups.find(({ base }) => base === ADMIN_PATH)?.routes ?? []) {
      expect(textOf('docs/reference/command-line.md')).toContain(`| \`${method} ${ADMIN_PATH}${shown(path)}\` |`)
    }
    for (const code of Object.keys(ERROR_TABLE)) expect(textOf('docs/reference/errors.md')).toContain(`| \`${code}\` |`)
  })

  test('describe every field of the configuration, with its default', () => {
    const rows = [configSchema, clusterSchema, planSchema].flatMap(schema => configRows(schema))
    const adapters = serverAdapters.adapters.flatMap(({ schema }) => configRows(schema))
    expect(rows.length).toBeGreaterThan(60)
    for (const [name, , meaning] of [...rows, ...adapters]) expect(meaning, name).toMatch(/\S/)
    const required = rows.filter(([, fallback]) => fallback === 'required').map(([name]) => name)
    expect(required).toEqual(['`id`', '`timelock`', '`clusters`'])
    for (const name of ['pin.maxDepth', 'network.peers']) {
      expect(textOf('docs/reference/configuration.md')).toContain(`| \`${name}\` |`)
    }
  })

  test("show operators' codes as INTERNAL_ERROR to clients", () => {
    expect(textOf('docs/reference/errors.md')).toContain('| `DATA_DIR_IN_USE` | 500, as `INTERNAL_ERROR` |')
  })
})
