// Configuration of the site: a page for each document, with search. `tools/site/build.ts` first writes `content/` and
// `site.json`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const { sidebar, versions, base } = JSON.parse(readFileSync(join(import.meta.dirname, '../content/site.json'), 'utf8'))

export default {
  title: 'Holdfast',
  description: 'An IPFS pinning service that you run yourself',
  srcDir: 'content',
  outDir: process.env.HOLDFAST_SITE_OUT,
  base,
  lastUpdated: false,
  // The documents contain no HTML and no attributes, but names such as <cid> and {cid}.
  markdown: { html: false, attrs: { disable: true } },
  themeConfig: {
    sidebar,
    nav: [
      { text: 'Start', link: '/start/five-minutes' },
      { text: 'Guides', link: '/index#guides' },
      { text: 'Reference', link: '/reference/http-api' },
      ...(versions.length > 1 ? [{ text: 'Versions', items: versions }] : []),
    ],
    search: { provider: 'local' },
    outline: [2, 3],
    footer: { message: 'MIT' },
  },
}
