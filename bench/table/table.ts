import type { Row } from '../report.ts'
import { CONTENDERS, type FigureOf, type Goal, TABLE, type TableLine } from './goals.ts'

/** Units of metrics for which less is better. Less is better for every cost. */
const LESS_IS_BETTER = new Set(['ms', 'µs', 'MB', 'MiB'])

export function tableMarkdown(rows: readonly Row[], lines: readonly TableLine[] = TABLE): string {
  const head = ['work', 'ours', ...CONTENDERS.map(name => `/ ${name}`), '/ limit', 'goals']
  const body = lines.flatMap(line => {
    const ours = figure(rows, line.ours)
    if (ours === undefined) return []
    const against = (subject: string, metric = line.ours.metric): string => {
      const ratio = ratioTo(rows, line.ours, subject, metric)
      return ratio === undefined ? '–' : shown(ratio)
    }
    const limit =
      line.limit === undefined ? '–' : `${against(line.limit.subject, line.limit.metric)} of ${line.limit.subject}`
    const goals = line.goals.map(goal => goalText(rows, line, goal)).join('; ')
    return [[line.work, shown(ours), ...CONTENDERS.map(name => against(name)), limit, goals === '' ? '–' : goals]]
  })
  return [head, head.map((_, column) => (column === 0 || column === head.length - 1 ? '---' : '---:')), ...body]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** Returns the number of goals met, and of goals with results. */
export function goalsMet(rows: readonly Row[], lines: readonly TableLine[] = TABLE): { met: number; of: number } {
  const looked = lines.flatMap(line => line.goals.map(goal => isMet(rows, line, goal))).filter(met => met !== undefined)
  return { met: looked.filter(Boolean).length, of: looked.length }
}

function isMet(rows: readonly Row[], { ours }: TableLine, goal: Goal): boolean | undefined {
  if (!('against' in goal)) {
    const value = figure(rows, ours)
    return value === undefined ? undefined : value <= goal.atMost
  }
  const ratio = ratioTo(rows, ours, goal.against, goal.metric)
  if (ratio === undefined) return undefined
  // An `atMost` goal is a ratio of costs, the inverse of a ratio of rates.
  return 'atLeast' in goal ? ratio >= goal.atLeast : 1 / ratio <= goal.atMost
}

function goalText(rows: readonly Row[], line: TableLine, goal: Goal): string {
  const met = isMet(rows, line, goal)
  const wanted =
    'atLeast' in goal
      ? `≥ ${goal.atLeast} ${goal.against}`
      : 'against' in goal
        ? `≤ ${goal.atMost} × ${goal.metric}`
        : `≤ ${goal.atMost}`
  return `${wanted} ${met === undefined ? 'not run' : met ? 'met' : '**missed**'}`
}

/** Returns the ratio of Holdfast's figure to another subject's, higher being better; undefined if one is missing. */
function ratioTo(rows: readonly Row[], ours: FigureOf, subject: string, metric = ours.metric): number | undefined {
  const own = figure(rows, ours)
  const theirs = figure(rows, { ...ours, subject, metric })
  if (own === undefined || theirs === undefined) return undefined
  const isLess = (ours.of ?? 'value') !== 'value' || LESS_IS_BETTER.has(rowOf(rows, ours)?.unit ?? '')
  return isLess ? theirs / own : own / theirs
}

function figure(rows: readonly Row[], wanted: FigureOf): number | undefined {
  return rowOf(rows, wanted)?.[wanted.of ?? 'value']
}

function rowOf(rows: readonly Row[], { bench, subject, metric }: FigureOf): Row | undefined {
  return rows.find(row => row.bench === bench && row.subject === subject && row.metric === metric)
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(value < 10 ? 2 : 3)))
}
