import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const pages = globSync('docs/contributing/*.md', { cwd: ROOT }).toSorted()

/** Returns the texts of a page's blocks of code in one language. */
function blocksOf(path: string, language: string): string[] {
  const blocks = readFileSync(join(ROOT, path), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].filter(([, given]) => given === language).map(([, , text = '']) => text)
}

describe('pages of common changes', () => {
  test.each(pages)('%s has diffs that apply', path => {
    const patch = blocksOf(path, 'diff').join('')
    expect(patch).toMatch(/^\+\+\+ /m)
    const apply = ['apply', '--check', '--numstat', '-']
    const changes = execFileSync('git', apply, { cwd: ROOT, input: patch, encoding: 'utf8' }).trim().split('\n')
    // If a hunk's header counts too few lines, `git apply` ignores the rest.
    const added = changes.reduce((sum, line) => sum + Number(line.split('\t')[0]), 0)
    expect(added).toBe(patch.match(/^\+(?!\+\+ b\/)/gm)?.length)
  })

  test.each(pages)('%s runs tests and scripts that exist', path => {
    const made = blocksOf(path, 'diff').join('')
    const commands = blocksOf(path, 'sh').join('')
    const tests = [...commands.matchAll(/\btest\/[\w./-]+/g)].map(([file]) => file)
    expect(tests.length).toBeGreaterThan(0)
    expect(tests.filter(file => !existsSync(join(ROOT, file)) && !made.includes(`+++ b/${file}`))).toEqual([])
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    for (const [, script = ''] of commands.matchAll(/npm run ([\w:]+)/g)) expect(scripts).toHaveProperty([script])
  })
})
