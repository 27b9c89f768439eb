import type { Row } from '../report.ts'
import { exponentOf, growthOf } from './growth.ts'
import { markdownTable, shown } from './markdown.ts'

/** Reader threads of the gateway. One event loop answers everything else. */
const READERS = 4
const MANY_CORES = 16

/**
 * Predicts the rate of a server from the cost of a request. The bound is the processor time of all cores, or that of
 * the busiest threads: `threads` readers, or one loop.
 * @param costs in milliseconds, measured on one core
 */
export function rateOn(cores: number, costs: { cpuMs: number; busiestMs: number }, threads: number): number {
  const byCores = (cores * 1_000) / costs.cpuMs
  const byThread = (Math.min(cores, threads) * 1_000) / costs.busiestMs
  return Math.min(byCores, byThread)
}

/**
 * Formats the rates on one core and on two, and the predicted rates on two and on sixteen. The measured rate on two
 * validates the model.
 */
export function coresTable(rows: readonly Row[]): string {
  const metrics = [...new Set(rows.filter(row => row.bench === 'cores').map(({ metric }) => metric))]
  const lines = metrics.flatMap(metric => {
    const on = (cores: number): Row | undefined =>
      rows.find(row => row.bench === 'cores' && row.metric === metric && row.subject === `cores-${cores}`)
    const one = on(1)
    if (one?.cpuMs === undefined || one.busiestMs === undefined) return []
    const costs = { cpuMs: one.cpuMs, busiestMs: one.busiestMs }
    const threads = metric === 'gateway' ? READERS : 1
    const byModel = (cores: number): string => shown(rateOn(cores, costs, threads))
    const bound = rateOn(MANY_CORES, costs, threads) < (MANY_CORES * 1_000) / costs.cpuMs
    return [
      [
        ...[metric, shown(one.value), twoCores(on(2)), shown(costs.cpuMs), shown(costs.busiestMs)],
        ...[byModel(2), byModel(MANY_CORES), bound ? (threads === 1 ? 'the loop' : `${READERS} readers`) : 'the cores'],
      ],
    ]
  })
  return markdownTable(
    ['question', '/s on 1', '/s on 2', 'processor, ms', 'busiest thread, ms', 'predicted for 2', 'for 16', 'bound by'],
    lines,
  )
}

function twoCores(row: Row | undefined): string {
  return row === undefined ? '–' : shown(row.value)
}

/** Extrapolates the last figure to a larger size by its exponent. A falling figure is taken as constant. */
export function extrapolated(points: ReadonlyArray<{ x: number; y: number }>, size: number): number | undefined {
  const exponent = exponentOf(points)
  const last = points.at(-1)
  return exponent === null || last === undefined ? undefined : last.y * (size / last.x) ** Math.max(0, exponent)
}

/** Formats the limits of one node, extrapolated from the cost of a record, a block and a byte. */
export function endsTable(rows: readonly Row[]): string {
  const last = (metric: string): number | undefined => growthOf(rows, metric).at(-1)?.y
  const record = last('records-bytes-each')
  const block = last('bytes-database-each-mib')
  const smallBlock = last('blocks-bytes-each')
  const rate = last('bytes-throughput')
  const files = last('blocks-files')
  const start = growthOf(rows, 'records-start')
  const TIB = 2 ** 40
  const lines: string[][] = []
  const add = (what: string, value: number | undefined, unit: string, why: string): void => {
    if (value !== undefined && Number.isFinite(value)) lines.push([what, `${shown(value)} ${unit}`, why])
  }
  add('database of 10,000,000 records', record && (record * 1e7) / 1e9, 'GB', 'a record with its root, hold and words')
  add('start at 10,000,000 records', extrapolated(start, 1e7), 'ms', 'by the exponent above')
  add(
    'status at 10,000,000 records',
    extrapolated(growthOf(rows, 'records-status'), 1e7),
    'µs',
    'by the exponent above',
  )
  add(
    'last page of 10,000,000 records',
    extrapolated(growthOf(rows, 'records-last-page'), 1e7),
    'µs',
    'by the exponent above',
  )
  add(
    'database of 100 TiB in large files',
    block && (block * 100 * TIB) / 2 ** 20 / 1e9,
    'GB',
    'a row for each MiB, and who needs it',
  )
  add(
    'files of 100 TiB',
    (100 * TIB) / 2 ** 20 / 1e6,
    'million',
    'a file for each MiB; inodes, and what a check of the file system takes',
  )
  add('writing 100 TiB', rate && (100 * TIB) / 1e6 / rate / 86_400, 'days', 'at the rate of the last file measured')
  add('database of 100,000,000 small blocks', smallBlock && (smallBlock * 1e8) / 1e9, 'GB', 'rows with their bytes')
  add(
    'writing 100,000,000 small files',
    files && 1e8 / files / 3_600,
    'hours',
    'at the rate of the last directory measured',
  )
  return markdownTable(['limit', 'predicted', 'reason'], lines)
}
