import { extname } from 'node:path'
import { TextlintKernel } from '@textlint/kernel'
import { markdownPassages } from './markdown.ts'
import { checks, rule } from './rules.ts'
import type { Passage } from './text.ts'
import { typescriptPassages } from './typescript.ts'

export interface Finding {
  path: string
  line: number
  rule: string
  message: string
}

const kernel = new TextlintKernel()
const rules = Object.entries(checks).map(([ruleId, check]) => ({ ruleId, rule: rule(check) }))

/**
 * Returns the findings for a text. The extension of the path selects the parser; `.subject` stands for a commit's
 * subject.
 */
export async function lint(path: string, text: string): Promise<Finding[]> {
  const options = {
    filePath: path,
    ext: extname(path),
    rules,
    plugins: [{ pluginId: 'passages', plugin: { Processor } }],
  }
  const { messages } = await kernel.lintText(text, options)
  return messages.map(({ line, ruleId, message }) => ({ path, line, rule: ruleId, message }))
}

class Processor {
  availableExtensions(): string[] {
    return ['.ts', '.md', '.subject']
  }

  processor() {
    return {
      preProcess: (text: string, path = '') => tree(text, passagesOf(path, text)),
      postProcess: (messages: never[], filePath = '') => ({ messages, filePath }),
    }
  }
}

function passagesOf(path: string, text: string): Passage[] {
  if (path.endsWith('.subject')) return [{ kind: 'subject', value: text.trim(), start: 0 }]
  return path.endsWith('.md') ? markdownPassages(path, text) : typescriptPassages(path, text)
}

function tree(text: string, found: Passage[]) {
  const lines = lineStarts(text)
  const place = (start: number, end: number) => ({
    raw: text.slice(start, end),
    range: [start, end] as const,
    loc: { start: position(lines, start), end: position(lines, end) },
  })
  const children = found
    .toSorted((one, other) => one.start - other.start)
    .map(({ kind, value, start }) => {
      const at = place(start, start + 1)
      return { type: 'Paragraph' as const, ...at, children: [{ type: 'Str' as const, ...at, kind, value }] }
    })
  return { type: 'Document' as const, ...place(0, text.length), children }
}

function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(match => match.index + 1)]
}

function position(lines: number[], offset: number): { line: number; column: number } {
  const line = lines.findLastIndex(start => start <= offset)
  return { line: line + 1, column: offset - (lines[line] ?? 0) }
}
