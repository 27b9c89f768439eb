import { uriOfText } from '../../domain/byte-text.ts'

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => ENTITIES[char] ?? char)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns a relative link. Without `./`, browsers would read a `:` in the name as the end of a URL scheme. */
export function hrefOf(name: string): string {
  return `./${uriOfText(name)}`
}

const STYLE = `
:root{color-scheme:light dark;--fg:#1d2129;--dim:#6b7280;--line:#e5e7eb;--bg:#fff;--hover:#f3f5f8;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--fg:#e6e8eb;--dim:#9aa3af;--line:#2c3138;--bg:#14171b;--hover:#1d2228;--link:#7ab8f5}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1rem}h1{font-size:1.1rem;font-weight:600;margin:0 0 .25rem;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}p{color:var(--dim);margin:.25rem 0 1rem;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}th{text-align:left;color:var(--dim);font-weight:500}
td,th{padding:.4rem .5rem;border-bottom:1px solid var(--line);vertical-align:baseline}tbody tr:hover{background:var(--hover)}
td:first-child{overflow-wrap:anywhere}.icon{width:1em;height:1em;margin-right:.6em;vertical-align:-.1em;fill:none;stroke:var(--dim);stroke-linejoin:round}.size{text-align:right;white-space:nowrap;color:var(--dim);font-variant-numeric:tabular-nums}
.cid,code{font:13px ui-monospace,monospace}.cid a{color:var(--dim)}nav{margin:1rem 0;display:flex;gap:1rem}`

/** Builds a page that loads no resources. Escapes the title. The body is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main>${body}</main></body></html>
`
}

/** Blocks scripts and external resources, in case a name with markup is not escaped. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
} as const
