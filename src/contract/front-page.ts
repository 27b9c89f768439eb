import { PUBLIC_NOTICE } from '../domain/public-notice.ts'
import { htmlPage, PAGE_HEADERS } from '../gateway/pages/html.ts'
import { text } from './answer-fields.ts'
import { type ContractRoute, route } from './contract-route.ts'

const CONSOLE = `
<tr><td><a href="console/">The console</a></td><td>Upload files, manage pins, and run the node, in the
browser.</td></tr>`

/** Links are relative, because the node may be mounted below a path prefix. */
const body = (first: string): string => `
<h1>Holdfast</h1>
<p>A pinning service: it stores IPFS content and serves it. <strong>${PUBLIC_NOTICE}</strong></p>
<table><tbody>${first}
<tr><td><a href="api/v3/docs">The API</a></td><td>Every request and answer below <code>api/v3</code>; for
programs as <a href="api/v3/openapi.json">openapi.json</a>.</td></tr>
<tr><td>The gateway</td><td><code>ipfs/&lt;cid&gt;/&lt;path&gt;</code> serves the pinned content of that CID.</td></tr>
<tr><td>A key</td><td>The server prints the owner's key at its first start. The owner creates accounts with
<code>holdfast account create</code> and keys with <code>holdfast key create</code>. A key can create other keys
with <code>POST api/v3/tokens/generate</code>.</td></tr>
<tr><td><a href="health">Health</a></td><td>Whether the node answers.</td></tr>
</tbody></table>`

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M8 1 14 4.5v7L8 15 2 11.5v-7z" \
fill="#0b5cad"/><path d="M8 4v5.5M5 8.5C5 10.5 6.5 12 8 12s3-1.5 3-3.5" fill="none" stroke="#fff" \
stroke-width="1.5" stroke-linecap="round"/></svg>`

const PAGE = htmlPage('Holdfast', body(''))
const PAGE_WITH_CONSOLE = htmlPage('Holdfast', body(CONSOLE))

const page = route({
  method: 'GET',
  path: '',
  access: 'public',
  tag: 'Node',
  summary: 'The front page of the node, for people',
  answers: { 200: { media: 'text/html', schema: text } },
  handler: (_, { hasConsole }) => ({
    status: 200,
    headers: { ...PAGE_HEADERS, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' },
    body: hasConsole ? PAGE_WITH_CONSOLE : PAGE,
  }),
})

/** Browsers request this path of every site, and accept any image type. */
const icon = route({
  method: 'GET',
  path: '/favicon.ico',
  access: 'public',
  tag: 'Node',
  summary: 'The icon of the front page',
  answers: { 200: { media: 'image/svg+xml', schema: text } },
  handler: () => ({
    status: 200,
    headers: { 'content-type': 'image/svg+xml', 'cache-control': 'max-age=86400', 'x-content-type-options': 'nosniff' },
    body: ICON,
  }),
})

export const frontRoutes: readonly ContractRoute[] = [page, icon]
