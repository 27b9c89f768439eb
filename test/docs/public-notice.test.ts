import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HELP } from '../../adapters/cli/help.ts'
import { openApiDocument } from '../../src/contract/openapi/openapi-document.ts'
import { documentationPage } from '../../src/contract/openapi/openapi-page.ts'
import { contractRoutes } from '../../src/contract/routes.ts'
import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
const document = openApiDocument(contractRoutes, '0.0.0')

describe('that everything pinned is public is told', () => {
  test('by the README, before anything is run', () => {
    expect(readme.indexOf(PUBLIC_NOTICE)).toBeGreaterThan(0)
    expect(readme.indexOf(PUBLIC_NOTICE)).toBeLessThan(readme.indexOf('```'))
  })

  test('by the page of the documentation, and by the description', () => {
    expect(document.info.description).toContain(`**${PUBLIC_NOTICE}**`)
    expect(documentationPage(document, 'openapi.json')).toContain(`<strong>${PUBLIC_NOTICE}</strong>`)
  })

  test.each(['/files', '/files/directory', '/files/directory-dag', '/files/car', '/files/pin/{cid}'])(
    'where content goes in by %s',
    path => {
      expect(document.paths[path]?.post?.description).toContain(PUBLIC_NOTICE)
    },
  )

  test.each(['upload', 'import', 'pin'] as const)('by the help of %s', command => {
    expect(HELP[command]).toContain(PUBLIC_NOTICE)
  })
})
