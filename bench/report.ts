import type { Bench, Cost, Measurement, Target } from './bench.ts'

/** One line of the result. Only a pair with a target has `against` and `ratio`. */
export interface Row {
  bench: string
  subject: string
  metric: string
  value: number
  unit: string
  /** Lowest and highest value of the rounds. */
  spread: [number, number]
  rounds: number
  against?: string
  /** Ratio of the two medians; higher is better. */
  ratio?: number
  /** Median processor seconds of a round, if the subject runs in its own processes. */
  cpuSeconds?: number
  /** Processor milliseconds for each unit of work: of all threads, and of the busiest thread. */
  cpuMs?: number
  busiestMs?: number
  /** Highest memory in RAM over all rounds, in 2²⁰ bytes. */
  peakMiB?: number
  /** Load client, and its share of a core. */
  client?: string
  clientShare?: number
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  if (upper === undefined || lower === undefined) throw new Error('a median needs at least one value')
  return (lower + upper) / 2
}

/** Returns a row for each pair with a target, and one without a ratio for each other subject. */
export function rowsOf(name: string, targets: readonly Target[], measurements: readonly Measurement[]): Row[] {
  return measurements.flatMap(measured => {
    const { subject, metric, unit } = measured
    const value = median(measured.values)
    const spread: Row['spread'] = [rounded(Math.min(...measured.values)), rounded(Math.max(...measured.values))]
    const rounds = measured.values.length
    const row: Row = {
      ...{ bench: name, subject, metric, value: rounded(value), unit, spread, rounds },
      ...costOf(measured),
    }
    const own = targets.filter(target => target.subject === subject && target.metric === metric)
    const rows = own.flatMap(({ against }) => {
      const other = measurements.find(({ subject, metric }) => subject === against && metric === measured.metric)
      // The subject to compare with was not selected.
      if (other === undefined) return []
      const theirs = median(other.values)
      return [{ ...row, against, ratio: rounded(measured.better === 'higher' ? value / theirs : theirs / value) }]
    })
    return rows.length === 0 ? [row] : rows
  })
}

function costOf({ costs, client }: Measurement): Partial<Row> {
  if (costs === undefined || costs.length === 0) return {}
  const of = (figure: (cost: Cost) => number): number => rounded(median(costs.map(figure)))
  return {
    cpuSeconds: of(cost => cost.cpuSeconds),
    cpuMs: of(cost => (1_000 * cost.cpuSeconds) / cost.amount),
    busiestMs: of(cost => (1_000 * cost.busiestSeconds) / cost.amount),
    peakMiB: Math.round(Math.max(...costs.map(cost => cost.peakMiB))),
    ...(client !== undefined && { client, clientShare: of(cost => cost.clientShare) }),
  }
}

export function tableOf(bench: Bench, rows: readonly Row[]): string {
  const hasCosts = rows.some(row => row.cpuSeconds !== undefined)
  const cells = rows.map(row => {
    const target = bench.targets.find(
      ({ subject, metric, against }) => subject === row.subject && metric === row.metric && against === row.against,
    )
    const compared =
      target === undefined || row.ratio === undefined
        ? []
        : [
            `${row.ratio} x ${target.against}`,
            `target ${target.atLeast}`,
            row.ratio >= target.atLeast ? 'met' : 'MISSED',
          ]
    const spread = row.rounds > 1 ? `${row.spread[0]} to ${row.spread[1]}` : ''
    const cost =
      row.cpuSeconds === undefined ? ['', '', ''] : [`${row.cpuSeconds} s cpu`, `${row.peakMiB} MiB`, row.client ?? '']
    return [row.subject, row.metric, `${row.value} ${row.unit}`, spread, ...(hasCosts ? cost : []), ...compared]
  })
  const widths = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(column => Math.max(0, ...cells.map(line => line[column]?.length ?? 0)))
  return cells
    .map(line => `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

/** Rounds to three significant digits: the measurements are not more accurate. */
function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
