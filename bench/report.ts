import type { Bench, Measurement, Target } from './bench.ts'

/** One line of the result. `against` and `ratio` are there exactly if the pair has a target. */
export interface Row {
  bench: string
  subject: string
  metric: string
  /** The median over the rounds. */
  value: number
  unit: string
  /** The lowest and the highest of the rounds. */
  spread: [number, number]
  rounds: number
  against?: string
  /** Of the two medians, better being higher. */
  ratio?: number
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  if (upper === undefined || lower === undefined) throw new Error('a median needs at least one value')
  return (lower + upper) / 2
}

/** A row for each pair that has a target, and one without a ratio for each other subject. */
export function rowsOf(name: string, targets: readonly Target[], measurements: readonly Measurement[]): Row[] {
  return measurements.flatMap(measured => {
    const { subject, metric, unit } = measured
    const value = median(measured.values)
    const spread: Row['spread'] = [rounded(Math.min(...measured.values)), rounded(Math.max(...measured.values))]
    const rounds = measured.values.length
    const row: Row = { bench: name, subject, metric, value: rounded(value), unit, spread, rounds }
    const own = targets.filter(target => target.subject === subject && target.metric === metric)
    const rows = own.flatMap(({ against }) => {
      const other = measurements.find(({ subject, metric }) => subject === against && metric === measured.metric)
      // Left out by who asked for some subjects only.
      if (other === undefined) return []
      const theirs = median(other.values)
      return [{ ...row, against, ratio: rounded(measured.better === 'higher' ? value / theirs : theirs / value) }]
    })
    return rows.length === 0 ? [row] : rows
  })
}

/** The rows as aligned columns, each target beside what was reached. */
export function tableOf(bench: Bench, rows: readonly Row[]): string {
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
    return [row.subject, row.metric, `${row.value} ${row.unit}`, spread, ...compared]
  })
  const widths = [0, 1, 2, 3, 4, 5].map(column => Math.max(0, ...cells.map(line => line[column]?.length ?? 0)))
  return cells
    .map(line => `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

/** Three significant digits are more than such a measurement carries; large figures keep their whole part. */
function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
