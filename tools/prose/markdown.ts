import { type Line, type Passage, passages, plain } from './text.ts'

/**
 * Returns the paragraphs, list items, table cells and headings of a Markdown file; of a changelog only its first
 * section.
 */
export function markdownPassages(path: string, text: string): Passage[] {
  const found: Passage[] = []
  const lines: Line[] = []
  let start = 0
  let sections = 0
  for (const value of text.split('\n')) {
    const line = { value: value.replace(/^\s*> ?/, '').replace(/<!--.*?-->/g, ''), start }
    start += value.length + 1
    if (/^## /.test(value)) sections += 1
    if (path === 'CHANGELOG.md' && sections > 1) break
    if (/^#+ /.test(line.value))
      found.push({ kind: 'heading', value: plain(line.value.replace(/^#+ /, '')), start: line.start })
    else if (/^\s*\|/.test(line.value)) found.push(...cells(line))
    else {
      lines.push(line)
      continue
    }
    lines.push({ value: '', start: line.start })
  }
  return [...found, ...passages(lines, 'paragraph')]
}

function cells({ value, start }: Line): Passage[] {
  return value
    .split(/(?<!\\)\|/)
    .map(cell => plain(cell))
    .filter(cell => /[a-z]/i.test(cell))
    .map(cell => ({ kind: 'paragraph', value: cell, start }))
}
