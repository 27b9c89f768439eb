import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { clustersTable } from '../../bench/performance/clusters.ts'
import { exponentOf, growthPlots, recordsTable, storedTable } from '../../bench/performance/growth.ts'
import { coresTable, endsTable, extrapolated, rateOn } from '../../bench/performance/model.ts'
import { blocksOf, filled, plotsOf } from '../../bench/performance/pages.ts'
import { svgOf } from '../../bench/performance/plot.ts'
import type { Row } from '../../bench/report.ts'
import { readSavedRun } from '../../bench/saved-run.ts'

const ROOT = join(import.meta.dirname, '../..')

const row = (bench: string, subject: string | number, metric: string, value: number, over: Partial<Row> = {}): Row => ({
  ...{ bench, subject: String(subject), metric, value, unit: 'µs', spread: [value, value], rounds: 1 },
  ...over,
})

test('the performance page and plots match the saved runs', () => {
  const results = join(ROOT, 'bench/results')
  const files = readdirSync(results).filter(file => file.endsWith('.json'))
  const runs = Object.fromEntries(files.map(file => [basename(file, '.json'), readSavedRun(join(results, file))]))
  const page = readFileSync(join(ROOT, 'docs/design/performance.md'), 'utf8')
  expect(filled(page, blocksOf(runs)), 'npm run performance').toBe(page)
  for (const [name, svg] of Object.entries(plotsOf(runs))) {
    const file = join(ROOT, 'docs/design/performance', `${name}.svg`)
    expect(existsSync(file) && readFileSync(file, 'utf8'), file).toBe(svg)
  }
})

test('blocks replace their places in the page, and nothing else changes', () => {
  const place = (name: string) => `<!-- ${name}: made by npm run performance -->\nold\n<!-- end of ${name} -->`
  const page = `a\n${place('x')}\nb\n${place('y')}\nc`
  expect(filled(page, { x: 'new' })).toBe(page.replace('old', 'new'))
  expect(() => filled(page, { z: '' })).toThrow('no place for z')
  expect(Object.values(blocksOf({}))).toEqual(Array(9).fill('Not run.'))
  expect(plotsOf({})).toEqual({})
})

test('growth is the exponent that fits best', () => {
  const sizes = [1e3, 1e4, 1e5]
  expect(exponentOf(sizes.map(x => ({ x, y: 7 })))).toBeCloseTo(0)
  expect(exponentOf(sizes.map(x => ({ x, y: 3 * x })))).toBeCloseTo(1)
  expect(exponentOf(sizes.map(x => ({ x, y: 5 * Math.sqrt(x) })))).toBeCloseTo(0.5)
  expect(exponentOf([{ x: 1, y: 1 }])).toBeNull()
  expect(
    exponentOf([
      { x: 4, y: 1 },
      { x: 4, y: 2 },
    ]),
  ).toBeNull()
  expect(
    extrapolated(
      sizes.map(x => ({ x, y: 3 * x })),
      1e7,
    ),
  ).toBeCloseTo(3e7, -2)
  expect(
    extrapolated(
      sizes.map(x => ({ x, y: 1e6 / x })),
      1e7,
    ),
  ).toBe(10)
  expect(extrapolated([], 1e7)).toBeUndefined()
})

test('growth is shown as a table by size and as plots', () => {
  const rows = [
    ...[row('scale', 10_000, 'records-status', 60), row('scale', 1_000, 'records-status', 50)],
    ...[row('scale', 2_000, 'blocks-files', 900, { unit: 'files/s' }), row('scale', 1_000, 'blocks-files', 1_000)],
    row('list', 1_000, 'records-status', 1),
  ]
  expect(recordsTable(rows).split('\n').slice(2)).toEqual(['| status, µs | 50 | 60 | 0.08 |'])
  expect(recordsTable(rows)).toContain('| figure | 1,000 | 10,000 | grows as records to the |')
  expect(storedTable(rows)).toContain('| 1,000 at 1,000 | 900 at 2,000 | -0.15 |')
  expect(Object.keys(growthPlots(rows))).toEqual(['records', 'blocks'])
})

test('the rate on more cores is bounded by the busiest thread', () => {
  const costs = { cpuMs: 2, busiestMs: 1 }
  expect(rateOn(1, costs, 1)).toBe(500)
  expect(rateOn(2, costs, 1)).toBe(1_000)
  expect(rateOn(16, costs, 1)).toBe(1_000)
  expect(rateOn(16, costs, 4)).toBe(4_000)
  expect(rateOn(3, { cpuMs: 2, busiestMs: 2 }, 4)).toBe(1_500)
  const rows = [
    row('cores', 'cores-1', 'status', 480, costs),
    row('cores', 'cores-2', 'status', 900, costs),
    row('cores', 'cores-1', 'gateway', 480, { cpuMs: 2, busiestMs: 2 }),
  ]
  expect(coresTable(rows).split('\n').slice(2)).toEqual([
    '| status | 480 | 900 | 2 | 1 | 1,000 | 1,000 | the loop |',
    '| gateway | 480 | – | 2 | 2 | 1,000 | 2,000 | 4 readers |',
  ])
})

test("a node's limits follow from the cost of records and bytes", () => {
  const rows = [row('scale', 1e6, 'records-bytes-each', 2_000), row('scale', 2 ** 33, 'bytes-throughput', 100)]
  const ends = endsTable(rows)
  expect(ends).toContain('| database of 10,000,000 records | 20 GB |')
  expect(ends).toContain('| writing 100 TiB | 12.7 days |')
  expect(ends).toContain('| files of 100 TiB | 105 million |')
  expect(ends).not.toContain('small blocks')
})

test('a plot has its points within its axes and escapes its text', () => {
  const series = [
    {
      name: 'a<b',
      points: [
        { x: 1, y: 10 },
        { x: 1_000, y: 20 },
      ],
    },
  ]
  const svg = svgOf({ title: 'T & t', x: 'x', y: 'y', series, isLog: { x: true } })
  expect(svg).toContain('<title>T &amp; t</title>')
  expect(svg).toContain('a&lt;b')
  // With a logarithmic x axis, 1,000 is at the right end. On the linear y axis 20 is at the top, 10 in the middle.
  expect(svg).toContain('<polyline points="78,184 530,44"')
  expect(svg.match(/<circle/g)).toHaveLength(3)
  expect(() => svgOf({ title: 'none', x: '', y: '', series: [] })).toThrow('none has no points')
})

test('clusters are columns, and figures of each work are lines', () => {
  const of = (subject: string, metric: string, value: number, unit: string) =>
    row('clusters', subject, metric, value, { unit })
  const rows = [
    ...[of('kubo', 'file', 9, 'MB/s'), of('kubo', 'file-pinned', 8.5, 'MB/s'), of('kubo', 'file-cpu-theirs', 5, 'ms')],
    ...[of('embedded', 'file', 500, 'MB/s'), of('embedded', 'file-cpu-ours', 2, 'ms'), row('small', 'kubo', 'file', 1)],
  ]
  expect(clustersTable(rows).split('\n')).toEqual([
    '| work | embedded | `ipfs add` |',
    '| --- | ---: | ---: |',
    '| a file of 100 MiB, MB/s | 500 | 9 |',
    '| – until pinned, MB/s | – | 8.5 |',
    '| – processor of the node, ms each | 2 | – |',
    '| – processor of the cluster, ms each | – | 5 |',
  ])
})
