// Checks all texts for people against tools/prose/rules.ts: comments, messages, test titles, documents and commit
// subjects. Paths as arguments restrict the check to them.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commitSubjects } from './prose/commits.ts'
import { EXCEPTIONS } from './prose/exceptions.ts'
import { type Finding, lint } from './prose/linter.ts'

const ROOT = join(import.meta.dirname, '..')
const READ = ['{src,adapters,test,bench,tools,examples}/**/*.ts', '*.md', 'docs/**/*.md']
const UNREAD = ['**/node_modules/**', 'docs/api/**']

const asked = process.argv.slice(2)
const paths = globSync(READ, { cwd: ROOT, exclude: UNREAD }).map(path => path.replaceAll('\\', '/'))
const used = new Set<string>()

const findings: Finding[] = []
for (const path of paths.filter(path => under(path, asked.length > 0 ? asked : ['']))) {
  findings.push(...(await lint(path, readFileSync(join(ROOT, path), 'utf8'))))
}
const kept = findings.filter(finding => !isExcepted(finding))
const stale: string[] = []
if (asked.length === 0) {
  for (const subject of commitSubjects(ROOT)) kept.push(...(await lint(`${subject.slice(0, 12)}….subject`, subject)))
  stale.push(
    ...EXCEPTIONS.filter(({ text }) => !used.has(text)).map(({ text }) => `no sentence has the exception "${text}"`),
  )
}

for (const { path, line, rule, message } of kept) console.error(`${path}:${line}: ${rule}: ${message}`)
for (const line of stale) console.error(`tools/prose/exceptions.ts: ${line}`)
console.log(`${paths.length} files, ${kept.length} sentences to rewrite`)
process.exitCode = kept.length + stale.length === 0 ? 0 : 1

function under(path: string, prefixes: string[]): boolean {
  return prefixes.some(prefix => prefix === '' || path === prefix || path.startsWith(`${prefix.replace(/\/$/, '')}/`))
}

function isExcepted({ path, message }: Finding): boolean {
  const exception = EXCEPTIONS.find(each => each.path === path && message.includes(each.text))
  if (exception !== undefined) used.add(exception.text)
  return exception !== undefined
}
