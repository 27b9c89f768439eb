import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writeContent } from '../../tools/site/content.ts'
import { PLACEHOLDER, relativeHtml, relativeScript } from '../../tools/site/relative-base.ts'

const ROOT = join(import.meta.dirname, '../..')

describe('the site of the documents', () => {
  test('has all pages of the index in its sidebar and in llms.txt', () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-site-'))
    try {
      writeContent(ROOT, join(directory, 'content'), ['v0.3.0', 'v0.2.0'], '')
      const read = (name: string): string => readFileSync(join(directory, 'content', name), 'utf8')
      const { sidebar, versions } = JSON.parse(read('site.json'))
      const headings = sidebar.map(({ text }: { text: string }) => text)
      expect(headings).toEqual(['Start', 'Guides', 'Reference', 'Design', 'Contributing'])
      expect(versions).toEqual([
        { text: 'v0.3.0', link: 'v0.3.0/index.html' },
        { text: 'v0.2.0', link: 'v0.2.0/index.html' },
      ])
      const links = [...read('llms.txt').matchAll(/\]\((\S+)\.html\)/g)].map(([, link]) => `${link}.md`)
      expect(links.length).toBeGreaterThan(40)
      for (const link of links) expect(read(link)).toMatch(/^# /)
      expect(read('guides/behind-tls.md')).toContain('](/source/examples/deploy/nginx.conf.txt)')
      expect(read('public/source/examples/deploy/nginx.conf.txt')).toContain('proxy_pass')
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  test('names its base at run time in pages and scripts', () => {
    const page = `<head></head><a href="${PLACEHOLDER}start/a.html">a</a>`
    expect(relativeHtml(page, '../')).toContain('<a href="../start/a.html">a</a>')
    const script = `const a="${PLACEHOLDER}b.js",c=JSON.parse("{\\"base\\":\\"${PLACEHOLDER}\\"}").base,d=\`${PLACEHOLDER}e\``
    const run = new Function('globalThis', `${relativeScript(script)};return [a,c,d]`)
    expect(run({ siteBase: '/ipfs/x/' })).toEqual(['/ipfs/x/b.js', '/ipfs/x/', '/ipfs/x/e'])
    const index = `const i='{"documentCount":1,"documentIds":{"0":"${PLACEHOLDER}f.html"}}'`
    const found = new Function('globalThis', `${relativeScript(index)};return JSON.parse(i)`)
    expect(found({ siteBase: '/' }).documentIds).toEqual({ 0: '/f.html' })
  })
})
