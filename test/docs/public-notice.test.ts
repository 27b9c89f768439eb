import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { helpOf } from '../../adapters/cli/help.ts'
import { openApiDocument } from '../../src/contract/openapi/openapi-document.ts'
import { documentationPage } from '../../src/contract/openapi/openapi-page.ts'
import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'
import { allRoutes } from '../../src/features/all-routes.ts'

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
const document = openApiDocument((await allRoutes()).contract, '0.0.0')

describe('the notice that pinned content is public', () => {
  test('is in the README before the first command', () => {
    expect(readme.indexOf(PUBLIC_NOTICE)).toBeGreaterThan(0)
    expect(readme.indexOf(PUBLIC_NOTICE)).toBeLessThan(readme.indexOf('```'))
  })

  test('is in the OpenAPI document and on its page', () => {
    expect(document.info.description).toContain(`**${PUBLIC_NOTICE}**`)
    expect(documentationPage(document, 'openapi.json')).toContain(`<strong>${PUBLIC_NOTICE}</strong>`)
  })

  test.each(['/files', '/files/directory', '/files/directory-dag', '/files/car', '/files/pin/{cid}'])(
    'is in the description of %s',
    path => {
      expect(document.paths[path]?.post?.description).toContain(PUBLIC_NOTICE)
    },
  )

  test.each(['upload', 'import', 'pin'] as const)('is in the help of %s', command => {
    expect(helpOf(command)).toContain(PUBLIC_NOTICE)
  })
})
