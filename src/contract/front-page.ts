import { PUBLIC_NOTICE } from '../domain/public-notice.ts'
import { htmlPage, PAGE_HEADERS } from '../gateway/pages/html.ts'
import type { ApiRequest } from '../http/api-messages.ts'
import { text } from './answer-fields.ts'
import { type ContractRoute, route } from './contract-route.ts'

const STYLE = `<style>main{max-width:44rem}h1{font-size:1.6rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p,li{color:inherit}li a{text-decoration:underline}
li{margin:.4rem 0}p,a,li,code{overflow-wrap:break-word}pre{margin:.5rem 0 1rem;padding:.8rem 1rem;overflow-x:auto;border-radius:6px;background:var(--hover)}</style>`

const CONSOLE = `
<li><a href="console/">Console</a>: upload files, manage pins and keys, and run the node, in the browser.</li>`

/**
 * Links are relative, because the node may be mounted below a path prefix.
 *
 * @param address address of this page, escaped for HTML
 */
const body = (console: string, address: string): string => `${STYLE}
<h1>Holdfast</h1>
<p>This server keeps files on IPFS. An upload gets a content identifier (CID) and a link. Equal bytes have one CID
everywhere. <strong>${PUBLIC_NOTICE}</strong></p>
<ul>${console}
<li><a href="api/v3/docs">API</a>: every request and answer below <code>api/v3</code>. Programs read
<a href="api/v3/openapi.json">openapi.json</a>.</li>
<li><a href="health">Health</a>: whether the node answers.</li>
</ul>
<h2>Upload your first file</h2>
<pre tabindex="0"><code>echo 'Hello from Holdfast!' &gt; hello.txt
curl -H 'X-API-Key: YOUR-KEY' \\
  -F file=@hello.txt \\
  ${address}api/v3/files</code></pre>
<p>The answer has the CID, and the link as <code>url</code>. Everyone can open the link without a key.</p>
<h2>Get a key</h2>
<p>The server prints the key of its owner at its first start. The owner makes accounts with <code>holdfast account
create</code>, and keys with <code>holdfast key create</code>. With a key, a program makes further keys at
<code>POST api/v3/tokens/generate</code>.</p>`

/** Returns the address under which the client reaches the node, or a word in its place. */
function addressOf({ scheme, header }: Pick<ApiRequest, 'scheme' | 'header'>): string {
  const host = header('host') ?? ''
  return /^[\w.:[\]-]+$/.test(host) ? `${scheme ?? 'http'}://${host}/` : 'ADDRESS-OF-THIS-PAGE/'
}

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M8 1 14 4.5v7L8 15 2 11.5v-7z" \
fill="#0b5cad"/><path d="M8 4v5.5M5 8.5C5 10.5 6.5 12 8 12s3-1.5 3-3.5" fill="none" stroke="#fff" \
stroke-width="1.5" stroke-linecap="round"/></svg>`

const page = route({
  method: 'GET',
  path: '',
  access: 'public',
  tag: 'Node',
  summary: 'The front page of the node, for people',
  answers: { 200: { media: 'text/html', schema: text } },
  handler: ({ request }, { hasConsole }) => ({
    status: 200,
    headers: { ...PAGE_HEADERS, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' },
    body: htmlPage('Holdfast', body(hasConsole ? CONSOLE : '', addressOf(request))),
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
