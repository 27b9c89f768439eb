import { expect, test } from 'vitest'
import type { Row } from '../../bench/report.ts'
import { TABLE, TABLE_SUBJECTS, type TableLine } from '../../bench/table/goals.ts'
import { goalsMet, tableMarkdown } from '../../bench/table/table.ts'

const row = (subject: string, metric: string, value: number, over: Partial<Row> = {}): Row => ({
  ...{ bench: 'b', subject, metric, value, unit: '/s', spread: [value, value], rounds: 1 },
  ...over,
})

const rate: TableLine = {
  work: 'work, /s',
  ours: { bench: 'b', subject: 'http', metric: 'm' },
  limit: { subject: 'limit', metric: 'other' },
  goals: [
    { against: 'kubo', atLeast: 2 },
    { against: 'limit', metric: 'other', atLeast: 0.9 },
    { against: 'kubo-sync', atLeast: 1 },
  ],
}

test('a line has our value, ratios, the limit and met goals', () => {
  const rows = [row('http', 'm', 200), row('kubo', 'm', 100), row('limit', 'other', 400), row('kubo', 'other', 1)]
  expect(tableMarkdown(rows, [rate]).split('\n')).toEqual([
    '| work | ours | / kubo | / kubo-sync | / kubo-pebble | / cluster | / limit | goals |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |',
    '| work, /s | 200 | 2 | – | – | – | 0.5 of limit | ≥ 2 kubo met; ≥ 0.9 limit **missed**; ≥ 1 kubo-sync not run |',
  ])
  expect(goalsMet(rows, [rate])).toEqual({ met: 1, of: 2 })
  expect(tableMarkdown([], [rate]).split('\n')).toHaveLength(2)
  expect(goalsMet([], [rate])).toEqual({ met: 0, of: 0 })
})

test('for times, processor and memory, less counts as better', () => {
  const time = { ...rate, goals: [{ atMost: 30 }, { against: 'http', metric: 'idle', atMost: 2 }] }
  const rows = [row('http', 'm', 20, { unit: 'ms' }), row('kubo', 'm', 100, { unit: 'ms' }), row('http', 'idle', 9)]
  expect(tableMarkdown(rows, [time])).toContain('| 20 | 5 | – | – | – | – of limit | ≤ 30 met; ≤ 2 × idle **missed** |')
  const memory = { work: 'memory', ours: { ...rate.ours, of: 'peakMiB' as const }, goals: [{ atMost: 99 }] }
  const peaks = [row('http', 'm', 1, { peakMiB: 100 }), row('kubo', 'm', 1, { peakMiB: 50 })]
  expect(tableMarkdown(peaks, [memory])).toContain('| memory | 100 | 0.5 | – | – | – | – | ≤ 99 **missed** |')
})

test('the table measures all subjects of its lines', () => {
  const wanted = TABLE.flatMap(({ ours, limit, goals }) => [
    [ours.bench, ours.subject],
    ...(limit === undefined ? [] : [[ours.bench, limit.subject]]),
    ...goals.flatMap(goal => ('against' in goal ? [[ours.bench, goal.against]] : [])),
  ])
  for (const [bench = '', subject = ''] of wanted) expect(TABLE_SUBJECTS[bench], bench).toContain(subject)
})
