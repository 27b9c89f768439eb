import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { background } from './background.ts'
import type { Bench } from './bench.ts'
import { clientsBench } from './clients-bench.ts'
import { clusters } from './clusters/clusters.ts'
import { collect } from './collect.ts'
import { type BenchCommand, parseCommand, UsageError } from './command-line.ts'
import { cores } from './cores.ts'
import { crowd } from './crowd.ts'
import { dag } from './dag.ts'
import { deletes } from './delete.ts'
import { benchEnvironment, environmentLine, programLines } from './environment.ts'
import { fair } from './fair.ts'
import { fetch } from './fetch.ts'
import { fleet } from './fleet.ts'
import { gateway } from './gateway.ts'
import { list } from './list/list.ts'
import { loop } from './loop.ts'
import { memory } from './memory.ts'
import { repair } from './repair.ts'
import { type Row, rowsOf, tableOf } from './report.ts'
import { comparisonOf, readSavedRun, type SavedRun, saveRun } from './saved-run.ts'
import { scale } from './scale.ts'
import { search } from './search.ts'
import { small } from './small.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { steady } from './steady.ts'
import { TABLE_SUBJECTS } from './table/goals.ts'
import { goalsMet, tableMarkdown } from './table/table.ts'
import { takedowns } from './takedowns.ts'
import { testEngine } from './test-engine.ts'
import { timing } from './timing.ts'
import { upload } from './upload.ts'

const BENCHES: readonly Bench[] = [
  upload,
  dag,
  small,
  fetch,
  gateway,
  takedowns,
  timing,
  list,
  search,
  crowd,
  status,
  deletes,
  collect,
  start,
  testEngine,
  fair,
  loop,
  background,
  memory,
  steady,
  scale,
  cores,
  fleet,
  repair,
  clusters,
  clientsBench,
]
const TABLE_NAME = 'table'
const TABLE_ROUNDS = 3
const FULL_ROUNDS = 7
const QUICK_ROUNDS = 3

const HELP = `npm run --silent bench -- BENCH... [flags]

Measures in interleaved rounds. Prints the machine, the medians, and the lowest and highest round.

${BENCHES.map(({ name, minutes, ...bench }) => `  ${name.padEnd(12)}about ${minutes} minutes: ${bench.describe('full')}`).join('\n')}
  table       about 20 minutes: the figures with goals, ours and those of other services, ${TABLE_ROUNDS} rounds, one with --quick
  all         about ${BENCHES.reduce((sum, { minutes }) => sum + minutes, 0)} minutes: all of these

  --quick         --size quick: a first impression in about a quarter of the time
  --size SIZE     full, quick, or tiny, a dry run with meaningless figures
  --rounds N      instead of ${FULL_ROUNDS} (clusters: ${clusters.rounds}), or ${QUICK_ROUNDS} of less than full size
  --subject NAME  only this subject; repeatable; a comparison needs both
  --save FILE     writes the results to a file
  --compare FILE  compares the results with those of a file
  --json          one JSON object a line on standard output; the first describes the machine
  --dir DIR       parent of the temporary directory (default: data/ of the checkout), which is removed at the end
  --help          this text`

const DEFAULT_PARENT = fileURLToPath(new URL('../data', import.meta.url))

/** Resolves with the exit code. Results go to standard output, everything else to standard error. */
export async function runCommand(args: readonly string[]): Promise<number> {
  let command: BenchCommand
  try {
    command = parseCommand(args, [...BENCHES.map(bench => bench.name), TABLE_NAME])
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    return 2
  }
  if (command.help || command.names.length === 0) {
    console.log(HELP)
    return 0
  }
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort(new Error('interrupted'))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    const saved = command.compare === undefined ? null : readSavedRun(command.compare)
    const parent = command.dir ?? DEFAULT_PARENT
    await mkdir(parent, { recursive: true })
    const run: SavedRun = { environment: benchEnvironment(parent), size: command.size, rows: [] }
    const head = command.json
      ? [JSON.stringify({ environment: run.environment })]
      : [environmentLine(run.environment), ...programLines(run.environment)]
    for (const line of head) console.log(line)
    const failures: string[] = []
    const isTable = command.names.includes(TABLE_NAME)
    for (const bench of BENCHES) {
      const asked = command.names.includes(bench.name) ? command : isTable ? forTable(bench, command) : null
      if (asked === null) continue
      try {
        run.rows.push(...(await runBench(bench, asked, parent, interrupt.signal)))
      } catch (error) {
        // A failed bench does not stop the others; an interrupt stops all.
        if (interrupt.signal.aborted) throw error
        failures.push(`${bench.name} failed: ${error instanceof Error ? error.message : String(error)}`)
        console.error(failures.at(-1))
      }
      if (command.save !== undefined) saveRun(command.save, run)
    }
    if (isTable) for (const line of tableLines(run)) (command.json ? console.error : console.log)(line)
    if (saved !== null) for (const line of comparisonOf(run, saved)) (command.json ? console.error : console.log)(line)
    return failures.length === 0 ? 0 : 1
  } catch (error) {
    console.error(`the bench failed: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

/** Returns null if the table does not need the bench. */
function forTable({ name }: Bench, command: BenchCommand): BenchCommand | null {
  const subjects = TABLE_SUBJECTS[name]
  if (subjects === undefined) return null
  const rounds = command.rounds ?? (command.size === 'full' ? TABLE_ROUNDS : 1)
  return { ...command, rounds, subjects: [...(command.subjects ?? subjects)] }
}

function tableLines({ rows }: SavedRun): string[] {
  const { met, of } = goalsMet(rows)
  return [tableMarkdown(rows), `${met} of ${of} goals met`]
}

async function runBench(bench: Bench, command: BenchCommand, parent: string, signal: AbortSignal): Promise<Row[]> {
  const { size, subjects, json } = command
  const rounds = command.rounds ?? (size === 'full' ? (bench.rounds ?? FULL_ROUNDS) : QUICK_ROUNDS)
  const times = bench.isOnce === true ? 'measured once' : `medians of ${rounds} rounds`
  const title = `${bench.name}: ${bench.describe(size)}, ${times}${size === 'full' ? '' : ` (${size})`}`
  if (json) console.error(title)
  else console.log(title)
  const dir = await mkdtemp(join(parent, 'bench-'))
  try {
    const measurements = await bench.run({ dir, scale: size, rounds, subjects, progress: showProgress, signal })
    showProgress('')
    const shown = measurements.filter(({ subject }) => subjects?.includes(subject) !== false)
    if (shown.length === 0) throw new Error(`${bench.name} has no subject ${subjects?.join(', ')}`)
    const rows = rowsOf(bench.name, bench.targets, shown)
    console.log(json ? rows.map(row => JSON.stringify(row)).join('\n') : tableOf(bench, rows))
    return rows
  } finally {
    showProgress('')
    await rm(dir, { recursive: true, force: true, maxRetries: 3 })
  }
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}
