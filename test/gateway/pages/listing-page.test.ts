import { expect, test } from 'vitest'
import { parseContentPath } from '../../../src/gateway/http/content-path.ts'
import { hrefOf } from '../../../src/gateway/pages/html.ts'
import { listingPage } from '../../../src/gateway/pages/listing-page.ts'

const ROOT = 'bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354'

test('shows names without characters that reorder them', () => {
  const name = 'invoice\u202efdp.exe'
  const path = parseContentPath(`/ipfs/${ROOT}/${encodeURIComponent(name)}/`)
  const entries = [{ name, cid: path.cid, type: 'file' as const, size: 9 }]
  const page = listingPage(path, { entries, next: null }, null)
  expect(page).not.toContain('\u202e')
  expect(page).toContain(`<a href="${hrefOf(name)}">invoice\ufffdfdp.exe</a>`)
  expect(page).toContain(`<span>invoice\ufffdfdp.exe</span>`)
  expect(page).toContain(`?filename=${encodeURIComponent(name)}`)
})
