import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const written = globSync('docs/**/*.md', { cwd: ROOT }).filter(path => !path.startsWith(join('docs', 'api')))
const documents = [...written, 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'].toSorted()

/** Returns the anchors of a document's headings, as links name them. */
function anchorsOf(path: string): string[] {
  const headings = [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text)
  return headings.map(text =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** Returns the target of a broken link; null if it exists. */
function missing(from: string, target: string): string | null {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? from : join(dirname(from), path)
  if (!existsSync(join(ROOT, file))) return target
  return anchor === undefined || !file.endsWith('.md') || anchorsOf(file).includes(anchor) ? null : target
}

describe('documents', () => {
  test.each(documents)('%s names only files and headings that exist', path => {
    const text = readFileSync(join(ROOT, path), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
    const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target = '']) => target)
    const sources = [...text.matchAll(/`((?:src|adapters|docs|test|tools|bench|examples|\.github)\/[\w./-]*)`/g)]
    expect(links.filter(target => missing(path, target) !== null)).toEqual([])
    expect(sources.map(([, file = '']) => file).filter(file => !existsSync(join(ROOT, file)))).toEqual([])
  })

  test('the check finds a missing file and a missing heading', () => {
    const wrong = ['nothing.md', '../architecture.md#nothing', '#nothing', '../../src/nothing.ts']
    expect(wrong.filter(target => missing('docs/design/packages.md', target) === null)).toEqual([])
    expect(missing('docs/design/packages.md', '../architecture.md#rooms')).toBeNull()
  })
})
