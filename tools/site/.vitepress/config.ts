// Configuration of the site: a page for each document, with search. `tools/site/build.ts` first writes `content/` and
// `site.json`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

const { sidebar, versions, base } = JSON.parse(readFileSync(join(import.meta.dirname, '../content/site.json'), 'utf8'))

/** Turns the rows of tables into cards on a phone, where columns would have no room. */
const STYLE = `
.vp-doc td { vertical-align: top }
.vp-doc td code { overflow-wrap: anywhere; white-space: normal }
@media (max-width: 640px) {
  .vp-doc table, .vp-doc tbody, .vp-doc tr, .vp-doc td { display: block; width: 100% }
  .vp-doc thead { display: none }
  .vp-doc tr { margin-bottom: 12px; border: 1px solid var(--vp-c-divider) }
  .vp-doc td { border: 0; padding: 6px 12px; text-align: left !important }
  .vp-doc td:empty { display: none }
  .vp-doc td:first-child { font-weight: 600 }
  .vp-doc td:not(:first-child)[data-label]:before {
    content: attr(data-label); display: block; font-size: 12px; color: var(--vp-c-text-2)
  }
}`

/** Gives each cell of a table the text of its heading. */
function labelCells(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('cell-labels', ({ tokens }) => {
    let headings: string[] = []
    let column = 0
    tokens.forEach((token, place) => {
      if (token.type === 'table_open') headings = []
      if (token.type === 'tr_open') column = 0
      if (token.type === 'th_open') headings.push(tokens[place + 1]?.content.replaceAll('`', '') ?? '')
      if (token.type === 'td_open') {
        const label = headings[column++]
        if (label !== undefined && label !== '') token.attrSet('data-label', label)
      }
    })
  })
}

export default {
  title: 'Holdfast',
  description: 'An IPFS pinning service that you run yourself',
  srcDir: 'content',
  outDir: process.env.HOLDFAST_SITE_OUT,
  base,
  lastUpdated: false,
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['style', {}, STYLE],
  ],
  // The documents contain no HTML and no attributes, but names such as <cid> and {cid}.
  markdown: { html: false, attrs: { disable: true }, config: labelCells },
  themeConfig: {
    sidebar,
    nav: [
      { text: 'Start', link: '/start/five-minutes' },
      { text: 'Guides', link: '/documents#guides' },
      { text: 'Reference', link: '/reference/http-api' },
      ...(versions.length > 1 ? [{ text: 'Versions', items: versions }] : []),
    ],
    search: { provider: 'local' },
    outline: [2, 3],
    footer: { message: 'MIT' },
  },
}
