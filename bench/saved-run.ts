import { readFileSync, writeFileSync } from 'node:fs'
import type { Scale } from './bench.ts'
import { type BenchEnvironment, environmentLine } from './environment.ts'
import type { Row } from './report.ts'

export interface SavedRun {
  environment: BenchEnvironment
  size: Scale
  rows: Row[]
}

export function saveRun(file: string, run: SavedRun): void {
  writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`)
}

/** @throws Error for any other file */
export function readSavedRun(file: string): SavedRun {
  try {
    const saved = JSON.parse(readFileSync(file, 'utf8')) as Partial<SavedRun>
    if (saved.environment !== undefined && Array.isArray(saved.rows)) return saved as SavedRun
  } catch (cause) {
    throw new Error(`${file} cannot be read as a saved run: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
  throw new Error(`${file} is not a saved run`)
}

/** Returns this run's medians as multiples of a saved run's, with a warning if the machines differ. */
export function comparisonOf(now: SavedRun, then: SavedRun): string[] {
  const lines = [`against ${environmentLine(then.environment)}`]
  const { commit: _, load: __, ...here } = now.environment
  const { commit: ___, load: ____, ...there } = then.environment
  if (JSON.stringify(here) !== JSON.stringify(there))
    lines.push('  measured on another machine: the figures are hardly comparable')
  const seen = new Set<string>()
  for (const { bench, subject, metric, value, unit } of now.rows) {
    const key = [bench, subject, metric].join(' ')
    const old = then.rows.find(row => [row.bench, row.subject, row.metric].join(' ') === key)
    if (old === undefined || seen.has(key)) continue
    seen.add(key)
    lines.push(`  ${key}  ${value} ${unit}, was ${old.value}, x ${(value / old.value).toFixed(2)}`)
  }
  return lines
}
