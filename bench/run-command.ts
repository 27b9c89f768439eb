import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.ts'
import { type BenchCommand, parseCommand, UsageError } from './command-line.ts'
import { dag } from './dag.ts'
import { fetch } from './fetch.ts'
import { gateway } from './gateway.ts'
import { list } from './list/list.ts'
import { loop } from './loop.ts'
import { memory } from './memory.ts'
import { rowsOf, tableOf } from './report.ts'
import { upload } from './upload.ts'

const BENCHES: readonly Bench[] = [upload, dag, fetch, gateway, list, loop, memory]
const FULL_ROUNDS = 7
const QUICK_ROUNDS = 3

const HELP = `npm run --silent bench -- [bench...] [--quick] [--json] [--dir DIR]

Measures in one run, rounds interleaved, and prints medians. Without a name it runs every bench.

${BENCHES.map(bench => `  ${bench.name.padEnd(10)}${bench.describe('full')}`).join('\n')}

  --quick    less content and ${QUICK_ROUNDS} rounds instead of ${FULL_ROUNDS}: a first impression only
  --json     one JSON object a line on standard output
  --dir DIR  where the temporary directory goes (default: data/ of the checkout); it is removed at the end
  --help     this text`

const DEFAULT_PARENT = fileURLToPath(new URL('../data', import.meta.url))

/** Runs what the arguments ask for; resolves with the exit code. Results go to standard output, the rest beside it. */
export async function runCommand(args: readonly string[]): Promise<number> {
  let command: BenchCommand
  try {
    const names = BENCHES.map(bench => bench.name)
    command = parseCommand(args, names)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    return 2
  }
  if (command.help) {
    console.log(HELP)
    return 0
  }
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort(new Error('interrupted'))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    for (const bench of BENCHES) {
      if (command.names.includes(bench.name)) await runBench(bench, command, interrupt.signal)
    }
    return 0
  } catch (error) {
    console.error(`the bench failed: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

async function runBench(bench: Bench, command: BenchCommand, signal: AbortSignal): Promise<void> {
  const scale = command.quick ? 'quick' : 'full'
  const rounds = command.quick ? QUICK_ROUNDS : FULL_ROUNDS
  const title = `${bench.name}: ${bench.describe(scale)}, ${bench.isOnce === true ? 'measured once' : `medians of ${rounds} rounds`}${command.quick ? ' (quick)' : ''}`
  if (command.json) console.error(title)
  else console.log(title)
  const parent = command.dir ?? DEFAULT_PARENT
  await mkdir(parent, { recursive: true })
  const dir = await mkdtemp(join(parent, 'bench-'))
  try {
    const measurements = await bench.run({ dir, scale, rounds, progress: showProgress, signal })
    showProgress('')
    const rows = rowsOf(bench.name, bench.targets, measurements)
    console.log(command.json ? rows.map(row => JSON.stringify(row)).join('\n') : tableOf(bench, rows))
  } finally {
    showProgress('')
    await rm(dir, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** One line that is overwritten, on a terminal only. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}
