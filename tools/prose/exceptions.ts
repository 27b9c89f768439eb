export interface Exception {
  path: string
  /** A part of the sentence that identifies it. */
  text: string
  reason: string
}

const NO_PROSE = 'a style sheet, markup or a program is no prose'

const COLUMNS = 'a list of columns is no prose'

export const EXCEPTIONS: Exception[] = [
  { path: 'src/catalogue/core-tables.ts', text: ' bigint, ', reason: COLUMNS },
  { path: 'src/features/audit/declaration.ts', text: ' bigint, ', reason: COLUMNS }, // feature: audit
  { path: 'src/features/webhooks/declaration.ts', text: ' bigint, ', reason: COLUMNS }, // feature: webhooks
  {
    path: 'adapters/console/page/content/add-content.ts',
    text: 'folders here',
    reason: 'the words are inside the target that they mean',
  },
  { path: 'src/contract/openapi/openapi-page.ts', text: 'doctype html>', reason: NO_PROSE },
  { path: 'src/contract/openapi/page-style.ts', text: '--get:#5ccf9a', reason: NO_PROSE },
  { path: 'src/contract/openapi/snippets.ts', text: 'io.Pipe()', reason: NO_PROSE },
  { path: 'src/contract/openapi/snippets.ts', text: 'php function call', reason: NO_PROSE },
]
