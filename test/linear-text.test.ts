import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'vite'
import { describe, expect, test } from 'vitest'
import { superlinear } from './support/regex-linearity.ts'

const ROOT = join(import.meta.dirname, '..')

/** What is allowed although it looks superlinear, by file, with the reason why no stranger can make use of it. */
const ALLOWED: Readonly<Record<string, readonly [expression: string, reason: string][]>> = {
  'src/gateway/policy/denylist.ts': [
    [
      '^hints:[^\\n]*\\n((?:[ \\t]+[^\\n]*(?:\\n|$))*)',
      "the header of the operator's own file, cut before, and it cannot fail",
    ],
  ],
  'adapters/node-http/handler.ts': [['\\/+$', 'the prefix of the program that mounts the engine']],
  'adapters/fastify/plugin.ts': [['\\/+$', 'the prefix of the program that mounts the engine']],
  'adapters/cli/api-settings.ts': [['\\/+$', 'an address that the caller of the command types']],
}

interface Found {
  file: string
  source: string
  flags: string
}

/** Every regular expression in the sources: literals, those made of text, and the patterns of schemas. */
const expressions: Found[] = ['src', 'adapters'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => expressionsIn(`${folder}/${name.replaceAll('\\', '/')}`)),
)

function expressionsIn(file: string): Found[] {
  const found: Found[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item)
    else if (typeof value === 'object' && value !== null) {
      const node = value as Record<string, unknown>
      const { regex } = node as { regex?: { pattern: string; flags: string } }
      if (regex !== undefined && typeof regex.pattern === 'string') {
        found.push({ file, source: regex.pattern, flags: regex.flags })
      }
      if (node.type === 'NewExpression' && (node.callee as { name?: string }).name === 'RegExp') {
        found.push({ file, source: '(made while it runs)', flags: '' })
      }
      const { key, value: text } = node as { key?: { name?: string }; value?: { value?: unknown } }
      if (node.type === 'Property' && key?.name === 'pattern' && typeof text?.value === 'string') {
        found.push({ file, source: text.value, flags: 'u' })
      }
      for (const child of Object.values(node)) visit(child)
    }
  }
  visit(parseAst(readFileSync(join(ROOT, file), 'utf8'), { lang: 'ts' }))
  return found
}

describe('regular expressions', () => {
  test('the sources have some', () => {
    expect(expressions.length).toBeGreaterThan(50)
  })

  test('take linear time, whatever they are given', () => {
    const wrong = expressions.flatMap(({ file, source, flags }) => {
      if (ALLOWED[file]?.some(([expression]) => expression === source)) return []
      return superlinear(source, flags).map(problem => `${file} /${source}/${flags}: ${problem}`)
    })
    expect(wrong).toEqual([])
  })

  test('no exception is for what is not there', () => {
    const stale = Object.entries(ALLOWED).flatMap(([file, allowed]) =>
      allowed.filter(([expression]) => !expressions.some(found => found.file === file && found.source === expression)),
    )
    expect(stale).toEqual([])
  })
})

describe('the check itself', () => {
  test.each([
    ['(a+)+$', ''],
    ['^(?:\\\\["\\\\]|[^"])*"', ''],
    ['\\/+$', ''],
    ['^\\s*Bearer\\s+(\\S.*?)\\s*$', 'i'],
    ['^\\s*\\s*x', ''],
    ['^(a|ab)*$', ''],
    ['^[a-z]+[a-z0-9]*$', ''],
    ['\\d+x', ''],
    ['^a{1,200}a{1,200}b', ''],
    ['^a*b?a*c', ''],
    ['^.*x.*$', ''],
    ['^\\d*x', 'm'],
  ])('objects to /%s/%s', (source, flags) => {
    expect(superlinear(source, flags)).not.toEqual([])
  })

  test.each([
    ['^[^:]+:\\d+$', ''],
    ['[^a-z0-9]+', 'g'],
    ['^\\s*form-data\\s*(?=;|$)', 'i'],
    ['^\\d{1,9}$', ''],
    ['^https?:$', ''],
    ['"[^"]*"', 'g'],
    ['^(?:a|b)*$', ''],
  ])('lets /%s/%s pass', (source, flags) => {
    expect(superlinear(source, flags)).toEqual([])
  })
})
