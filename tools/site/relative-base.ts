// VitePress builds for one base path, but a gateway serves a site below the path of its CID, which is known only after
// the build. So the build uses a placeholder, which each page replaces by its base at run time.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Placeholder for the site's base path in VitePress's output. */
export const PLACEHOLDER = '/holdfast-site-base/'
const BASE = 'globalThis.siteBase'
const STRING = new RegExp(`"${PLACEHOLDER}((?:[^"\\\\\\n]|\\\\.)*)"`, 'g')

export function makeRelative(directory: string): void {
  for (const file of globSync('**/*.{html,css,js}', { cwd: directory })) {
    const path = join(directory, file)
    const up = relative(dirname(file), '.') === '' ? './' : `${relative(dirname(file), '.')}/`
    const text = readFileSync(path, 'utf8')
    if (file.endsWith('.html')) writeFileSync(path, relativeHtml(text, up))
    else if (file.endsWith('.css')) writeFileSync(path, text.replaceAll(PLACEHOLDER, up))
    else writeFileSync(path, relativeScript(text))
  }
}

/** Returns a page with relative links. Its first script sets the base for all others. */
export function relativeHtml(page: string, up: string): string {
  const name = `<script>${BASE}=new URL(${JSON.stringify(up)},location.href).pathname</script>`
  const parts = page.split(/(<script>window\.__VP_[\s\S]*?<\/script>)/)
  const written = parts.map(part =>
    part.startsWith('<script>window.__VP_') ? relativeScript(part) : part.replaceAll(PLACEHOLDER, up),
  )
  return written.join('').replace('<head>', `<head>${name}`)
}

/** Returns a script in which each string literal with the placeholder reads the base at run time. */
export function relativeScript(script: string): string {
  // The search index is JSON in a single string literal.
  const quote = /(['"`])\{\\?"documentCount/.exec(script)?.[1]
  if (quote !== undefined)
    return script.replaceAll(PLACEHOLDER, quote === '`' ? `\${${BASE}}` : `${quote}+${BASE}+${quote}`)
  return script
    .replaceAll(`\\"${PLACEHOLDER}`, `\\""+${BASE}+"`)
    .replaceAll(STRING, (_, rest: string) => `(${BASE}+"${rest}")`)
    .replaceAll(PLACEHOLDER, `\${${BASE}}`)
}
