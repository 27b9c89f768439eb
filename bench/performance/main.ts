// Writes the results into docs/design/performance.md and the plots next to it.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readSavedRun } from '../saved-run.ts'
import { blocksOf, filled, plotsOf, type Runs } from './pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const RESULTS = join(ROOT, 'bench/results')
const PAGE = join(ROOT, 'docs/design/performance.md')
const PLOTS = join(ROOT, 'docs/design/performance')

const files = existsSync(RESULTS) ? readdirSync(RESULTS).filter(file => file.endsWith('.json')) : []
const runs: Runs = Object.fromEntries(files.map(file => [basename(file, '.json'), readSavedRun(join(RESULTS, file))]))

writeFileSync(PAGE, filled(readFileSync(PAGE, 'utf8'), blocksOf(runs)))
mkdirSync(PLOTS, { recursive: true })
for (const [name, svg] of Object.entries(plotsOf(runs))) writeFileSync(join(PLOTS, `${name}.svg`), svg)
