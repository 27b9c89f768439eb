import type { Row } from '../report.ts'
import { markdownTable, shown } from './markdown.ts'
import type { Plot, Series } from './plot.ts'

export function growthOf(rows: readonly Row[], metric: string): Array<{ x: number; y: number }> {
  return rows
    .filter(row => row.bench === 'scale' && row.metric === metric)
    .map(row => ({ x: Number(row.subject), y: row.value }))
    .sort((a, b) => a.x - b.x)
}

/**
 * Returns the exponent of a figure's growth with its size, by a least-squares fit of the logarithms: 0 is constant, 1
 * is proportional.
 */
export function exponentOf(points: ReadonlyArray<{ x: number; y: number }>): number | null {
  const logs = points.filter(({ x, y }) => x > 0 && y > 0).map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }))
  if (logs.length < 2) return null
  const mean = (of: (point: { x: number; y: number }) => number): number =>
    logs.reduce((sum, point) => sum + of(point), 0) / logs.length
  const [middleX, middleY] = [mean(({ x }) => x), mean(({ y }) => y)]
  const spread = mean(({ x }) => (x - middleX) ** 2)
  return spread === 0 ? null : mean(({ x, y }) => (x - middleX) * (y - middleY)) / spread
}

export function recordsTable(rows: readonly Row[]): string {
  const metrics = metricsOf(rows, 'records-')
  const sizes = [...new Set(metrics.flatMap(metric => growthOf(rows, metric).map(({ x }) => x)))].sort((a, b) => a - b)
  return markdownTable(
    ['figure', ...sizes.map(size => size.toLocaleString('en')), 'grows as records to the'],
    metrics.map(metric => {
      const points = growthOf(rows, metric)
      const unit = rows.find(row => row.metric === metric)?.unit ?? ''
      const values = sizes.map(size => points.find(({ x }) => x === size)?.y)
      const name = `${metric.slice('records-'.length)}, ${unit}`
      return [name, ...values.map(value => (value === undefined ? '–' : shown(value))), exponentText(points)]
    }),
  )
}

export function storedTable(rows: readonly Row[]): string {
  const lines = [...metricsOf(rows, 'blocks-'), ...metricsOf(rows, 'bytes-')].flatMap(metric => {
    const points = growthOf(rows, metric)
    const [first, last] = [points[0], points.at(-1)]
    const unit = rows.find(row => row.metric === metric)?.unit ?? ''
    if (first === undefined || last === undefined) return []
    const of = metric.startsWith('blocks-')
      ? (x: number) => x.toLocaleString('en')
      : (x: number) => `${shown(x / 2 ** 30)} GiB`
    const from = points.length < 2 ? '–' : `${shown(first.y)} at ${of(first.x)}`
    return [[`${metric}, ${unit}`, from, `${shown(last.y)} at ${of(last.x)}`, exponentText(points)]]
  })
  return markdownTable(['figure', 'first', 'last', 'grows as what is stored to the'], lines)
}

export function growthPlots(rows: readonly Row[]): Record<string, Plot> {
  const seriesOf = (names: readonly string[]): Series[] =>
    names.map(name => ({ name, points: growthOf(rows, `records-${name}`) })).filter(({ points }) => points.length > 0)
  const questions = seriesOf(['status', 'cid', 'parentCid', 'last-page', 'q', 'name', 'meta', 'delete'])
  const blocks = growthOf(rows, 'blocks-files')
  const bytes = growthOf(rows, 'bytes-throughput').map(({ x, y }) => ({ x: x / 2 ** 30, y }))
  return {
    ...(questions.length > 0 && {
      records: {
        ...{ title: 'Questions to an account', x: 'records', y: 'median, µs' },
        ...{ isLog: { x: true, y: true }, series: questions },
      },
    }),
    ...(blocks.length > 0 && {
      blocks: {
        ...{ title: 'Directories of small files, one after the other', x: 'blocks in the store', y: 'files/s' },
        series: [{ name: 'files/s', points: blocks }],
      },
    }),
    ...(bytes.length > 0 && {
      bytes: {
        ...{ title: 'Large files, one after the other', x: 'GiB in the store', y: 'MB/s' },
        series: [{ name: 'MB/s', points: bytes }],
      },
    }),
  }
}

function metricsOf(rows: readonly Row[], prefix: string): string[] {
  return [...new Set(rows.filter(row => row.bench === 'scale').map(({ metric }) => metric))].filter(metric =>
    metric.startsWith(prefix),
  )
}

function exponentText(points: ReadonlyArray<{ x: number; y: number }>): string {
  const exponent = exponentOf(points)
  return exponent === null ? '–' : exponent.toFixed(2)
}
