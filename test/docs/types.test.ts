import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { blocksOf } from '../support/guide.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache')
const PAGES = globSync(['README.md', 'docs/{start,guides,reference}/*.md'], { cwd: ROOT })
/** JSX types for blocks of React, which is not a dependency. */
const JSX = 'declare namespace JSX { interface IntrinsicElements { [name: string]: object } interface Element {} }\n'

/** Type-checks blocks with the project's strict settings. Returns the compiler's output. */
function check(blocks: ReadonlyArray<{ name: string; text: string }>): string {
  mkdirSync(CACHE, { recursive: true })
  const directory = mkdtempSync(join(CACHE, 'types-'))
  try {
    const entries = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
      typeof target === 'string' ? [] : [[`holdfast${entry.slice(1)}`, [sourceOf(target.default)]]],
    )
    const compilerOptions = {
      noEmit: true,
      allowJs: true,
      strict: true,
      jsx: 'preserve',
      paths: Object.fromEntries(entries),
    }
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['**/*'], exclude: [] }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
    writeFileSync(join(directory, 'jsx.d.ts'), JSX)
    for (const { name, text } of blocks) {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), `${text}\nexport {}\n`)
    }
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', directory], {
      encoding: 'utf8',
    })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function sourceOf(built: string): string {
  return join(ROOT, built.replace('./dist/', '').replace(/\.js$/, '.ts'))
}

test('TypeScript blocks of the documents compile under strict', { timeout: 90_000 }, () => {
  const blocks = PAGES.flatMap(page =>
    blocksOf(join(ROOT, page))
      .filter(({ language, name }) => language === 'ts' || language === 'tsx' || name === 'engine.js')
      .map(({ language, name, text }, place) => ({
        name: join(page.replace('.md', ''), name === '' ? `block-${place}.${language}` : name),
        text,
      })),
  )
  expect(blocks.length).toBeGreaterThan(3)
  expect(check(blocks)).toBe('')
})

test('a block with a wrong type is refused', { timeout: 90_000 }, () => {
  const text =
    "import { createEngine } from 'holdfast'\nexport const engine: string = await createEngine({ dataDir: 1 })"
  expect(check([{ name: 'wrong.ts', text }])).toContain('wrong.ts')
})
