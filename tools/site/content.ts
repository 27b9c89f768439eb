// Copies the documents to VitePress's source directory, and writes the sidebar and `llms.txt` from their index.
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { PLACEHOLDER } from './relative-base.ts'

/** Pages outside the directory of the documents. */
const BESIDE = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
/** The site begins with the project's README. Their index is a page of its own. */
const RENAMED: Readonly<Record<string, string>> = { 'README.md': 'index.md', 'docs/README.md': 'documents.md' }

interface Entry {
  text: string
  link: string
}

/** Writes the pages of a source tree. `tags` are the versions to offer; `directory` is the one of this version. */
export function writeContent(source: string, content: string, tags: readonly string[], directory: string): void {
  rmSync(content, { recursive: true, force: true })
  cpSync(join(source, 'docs'), content, { recursive: true })
  const pages = globSync('**/*.md', { cwd: content })
  for (const page of pages) writePage(source, content, join('docs', page))
  for (const page of BESIDE) writePage(source, content, page)
  const groups = groupsOf(readFileSync(join(source, 'docs/README.md'), 'utf8'))
  const sidebar = groups.map(({ text, items }) => ({ text, items, collapsed: false }))
  const up = directory === '' ? '' : '../'
  const versions = tags.map(tag => ({ text: tag, link: `${up}${tag}/index.html` }))
  writeFileSync(join(content, 'site.json'), JSON.stringify({ sidebar, versions, base: PLACEHOLDER }))
  writeFileSync(join(content, 'llms.txt'), llmsText(groups))
}

function writePage(source: string, content: string, page: string): void {
  const text = readFileSync(join(source, page), 'utf8')
  const target = join(content, placeOf(page))
  const written = text
    .replaceAll(/\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)/g, (_, label: string, to: string) => {
      const [path = '', anchor] = to.split('#')
      const linked = normalize(join(dirname(page), path))
      const suffix = anchor === undefined ? '' : `#${anchor}`
      if (linked.endsWith('.md')) {
        return `[${label}](${relative(dirname(placeOf(page)) || '.', placeOf(linked)) || '.'}${suffix})`
      }
      if (linked.startsWith('docs/')) return `[${label}](./${relative(dirname(placeOf(page)), linked.slice(5))})`
      if (!statSync(join(source, linked)).isFile()) return label
      const copy = join('source', `${linked}.txt`)
      mkdirSync(dirname(join(content, 'public', copy)), { recursive: true })
      copyFileSync(join(source, linked), join(content, 'public', copy))
      return `[${label}](/${copy})`
    })
    .replaceAll(/<!--.*?-->\n?/g, '')
    // VitePress shows a name in brackets as the block's title.
    .replaceAll(/^```(\w+) (\S+\.\w+)$/gm, (_, language: string, name: string) => `\`\`\`${language} [${name}]`)
  if (placeOf(page) !== relative('docs', page)) rmSync(join(content, relative('docs', page)), { force: true })
  writeFileSync(target, written)
}

/** Returns the path of a repository's page in the site. The README of a directory becomes its index. */
function placeOf(page: string): string {
  const below = page.startsWith('docs/') ? page.slice('docs/'.length) : page.toLowerCase()
  return RENAMED[page] ?? below.replace(/\/README\.md$/, '/index.md')
}

function groupsOf(index: string): Array<{ text: string; items: Entry[] }> {
  return index
    .split(/^## /m)
    .slice(1)
    .map(section => {
      const [heading = ''] = section.split('\n')
      const items = [...section.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)].map(([, text = '', to = '']) => ({
        text: text[0]?.toUpperCase() + text.slice(1),
        link: `/${placeOf(normalize(join('docs', to))).replace(/\.md$/, '')}`,
      }))
      return { text: heading, items }
    })
}

function llmsText(groups: ReturnType<typeof groupsOf>): string {
  const sections = groups.map(({ text, items }) => {
    const lines = items.map(item => `- [${item.text}](${item.link.slice(1)}.html)`)
    return `## ${text}\n\n${lines.join('\n')}\n`
  })
  return `# Holdfast\n\n> An IPFS pinning service that you run yourself.\n\n${sections.join('\n')}`
}
