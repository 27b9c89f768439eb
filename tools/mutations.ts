// Breaks each promise of test/promises.ts in a copy of the tree and runs its test, which must fail. Without the change,
// the test must pass.
// Each takes a few seconds. `--only TEXT` selects promises by their text or file. A test without a result within four
// minutes counts as a problem.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type KeptPromise, promises } from '../test/promises.ts'

const ROOT = join(import.meta.dirname, '..')
const COPIED = [
  'src',
  'adapters',
  'bench',
  'examples',
  'test',
  'tools',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
]
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')

const LONGEST_MS = 240_000

interface Outcome {
  passed: number
  failed: number
}

/** Returns null if the test was stopped or ended without a report. */
function runTest(tree: string, { file, name }: KeptPromise['test']): Outcome | null {
  const report = join(tree, 'report.json')
  rmSync(report, { force: true })
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const args = [VITEST, 'run', file, '-t', pattern, '--reporter=json', `--outputFile=${report}`]
  spawnSync(process.execPath, args, { cwd: tree, stdio: 'ignore', timeout: LONGEST_MS })
  if (!existsSync(report)) return null
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, 'utf8')) as {
    numPassedTests: number
    numFailedTests: number
  }
  return { passed, failed }
}

/** A mutation that its test did not detect, or whose test gave no result. */
interface Problem {
  word: 'SURVIVED ' | 'UNDECIDED'
  why: string
}

/** Returns null if its test detects the broken promise. */
function problemOf(tree: string, kept: KeptPromise): Problem | null {
  const path = join(tree, kept.file)
  const text = readFileSync(path, 'utf8')
  if (text.split(kept.find).length !== 2) return survived(`${kept.file} must contain exactly once: ${kept.find.trim()}`)
  const whole = runTest(tree, kept.test)
  if (whole === null) return undecided(`${kept.test.name} did not end without the mutation`)
  if (whole.passed === 0) return survived(`there is no test ${kept.test.name} in ${kept.test.file}`)
  if (whole.failed > 0) return survived(`${kept.test.name} fails without the mutation`)
  writeFileSync(
    path,
    text.replace(kept.find, () => kept.replace),
  )
  try {
    const broken = runTest(tree, kept.test)
    if (broken === null) return undecided(`${kept.test.name} did not end`)
    return broken.failed > 0 ? null : survived(`${kept.test.name} does not detect the mutation`)
  } finally {
    writeFileSync(path, text)
  }
}

function survived(why: string): Problem {
  return { word: 'SURVIVED ', why }
}

function undecided(why: string): Problem {
  return { word: 'UNDECIDED', why }
}

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, help: { type: 'boolean' } } })
if (values.help === true) {
  console.log(
    'npm run --silent mutations [-- --only TEXT]: breaks each promise, or those whose text or file contains TEXT',
  )
  process.exit()
}
const { only } = values
const tree = mkdtempSync(join(tmpdir(), 'holdfast-mutations-'))
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  let problems = 0
  for (const kept of promises.filter(({ promise, file }) => promise.includes(only) || file.includes(only))) {
    const problem = problemOf(tree, kept)
    console.log(problem === null ? `detected  ${kept.promise}` : `${problem.word} ${kept.promise}: ${problem.why}`)
    if (problem !== null) problems++
  }
  process.exitCode = problems === 0 ? 0 : 1
} finally {
  rmSync(tree, { recursive: true, force: true })
}
