// VitePress builds for one base path. A gateway serves a site below the path of its CID, which is known only after the
// build. So the build has a placeholder for the base, which is replaced by what each page finds at run time.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Stands for the base of the site in what VitePress writes. */
export const PLACEHOLDER = '/holdfast-site-base/'
const BASE = 'globalThis.siteBase'
/** A string that begins with the placeholder, and the rest of it. */
const STRING = new RegExp(`"${PLACEHOLDER}((?:[^"\\\\\\n]|\\\\.)*)"`, 'g')

/** Rewrites a built site, so that it works below any path. */
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

/** Returns a page whose links are relative, and which names the base for scripts before any of them runs. */
export function relativeHtml(page: string, up: string): string {
  const name = `<script>${BASE}=new URL(${JSON.stringify(up)},location.href).pathname</script>`
  const parts = page.split(/(<script>window\.__VP_[\s\S]*?<\/script>)/)
  const written = parts.map(part =>
    part.startsWith('<script>window.__VP_') ? relativeScript(part) : part.replaceAll(PLACEHOLDER, up),
  )
  return written.join('').replace('<head>', `<head>${name}`)
}

/** Returns a script that asks for the base at run time, wherever a string literal has the placeholder. */
export function relativeScript(script: string): string {
  // The search index is one literal with JSON in it.
  const quote = /(['"`])\{\\?"documentCount/.exec(script)?.[1]
  if (quote !== undefined)
    return script.replaceAll(PLACEHOLDER, quote === '`' ? `\${${BASE}}` : `${quote}+${BASE}+${quote}`)
  return script
    .replaceAll(`\\"${PLACEHOLDER}`, `\\""+${BASE}+"`)
    .replaceAll(STRING, (_, rest: string) => `(${BASE}+"${rest}")`)
    .replaceAll(PLACEHOLDER, `\${${BASE}}`)
}
