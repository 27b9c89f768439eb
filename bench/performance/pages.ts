import { environmentLine, programLines } from '../environment.ts'
import type { Row } from '../report.ts'
import type { SavedRun } from '../saved-run.ts'
import { goalsMet, tableMarkdown } from '../table/table.ts'
import { clustersTable } from './clusters.ts'
import { growthPlots, recordsTable, storedTable } from './growth.ts'
import { markdownTable, shown } from './markdown.ts'
import { coresTable, endsTable } from './model.ts'
import { type Plot, svgOf } from './plot.ts'

/** Runs by the names of their files. Missing runs do not appear on the page. */
export type Runs = Readonly<Record<string, SavedRun | undefined>>

export function blocksOf(runs: Runs): Record<string, string> {
  const { table, scale, cores, clients: loadClients, loop, clusters } = runs
  return {
    table: part(table, ({ rows }) => {
      const { met, of } = goalsMet(rows)
      return `${tableMarkdown(rows)}\n\n${met} of ${of} goals met.`
    }),
    costs: part(table, ({ rows }) => costsTable(rows)),
    records: part(scale, ({ rows }) => recordsTable(rows)),
    stored: part(scale, ({ rows }) => storedTable(rows)),
    ends: part(scale, ({ rows }) => endsTable(rows), false),
    cores: part(cores, ({ rows }) => coresTable(rows)),
    clients: part(loadClients, ({ rows }) => plainTable(rows)),
    loop: part(loop, ({ rows }) => plainTable(rows)),
    clusters: part(clusters, ({ rows }) => clustersTable(rows)),
  }
}

export function plotsOf({ table, scale }: Runs): Record<string, string> {
  const plots: Record<string, Plot> = scale === undefined ? {} : growthPlots(scale.rows)
  return {
    ...(table !== undefined && { contenders: barsOf(table.rows) }),
    ...Object.fromEntries(Object.entries(plots).map(([name, plot]) => [name, svgOf(plot)])),
  }
}

/** @throws Error if the page has no place for a block */
export function filled(page: string, blocks: Readonly<Record<string, string>>): string {
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const [from, to] = [`<!-- ${name}: made by npm run performance -->`, `<!-- end of ${name} -->`]
    const [start, end] = [text.indexOf(from), text.indexOf(to)]
    if (start < 0 || end < start) throw new Error(`the page has no place for ${name}`)
    return `${text.slice(0, start + from.length)}\n${block}\n${text.slice(end)}`
  }, page)
}

function part(run: SavedRun | undefined, make: (run: SavedRun) => string, isHeaded = true): string {
  if (run === undefined) return 'Not run.'
  const size = run.size === 'full' ? '' : ` Size ${run.size}: a first impression, of less than the lines say.`
  const head = [`${environmentLine(run.environment)}.${size}`, ...programLines(run.environment)].join('\n')
  return isHeaded ? `\`\`\`text\n${head}\n\`\`\`\n\n${make(run)}` : make(run)
}

function costsTable(rows: readonly Row[]): string {
  const measured = rows.filter(row => row.cpuMs !== undefined)
  return markdownTable(
    [
      'bench',
      'metric',
      'subject',
      'median',
      'lowest to highest',
      'processor, ms each',
      'memory, MiB',
      'client',
      'its share of a core',
    ],
    measured.map(row => [
      ...[row.bench, row.metric, row.subject, `${shown(row.value)} ${row.unit}`],
      ...[row.rounds > 1 ? `${shown(row.spread[0])} to ${shown(row.spread[1])}` : '–', shown(row.cpuMs ?? 0)],
      ...[String(row.peakMiB), row.client ?? '–', row.clientShare === undefined ? '–' : shown(row.clientShare)],
    ]),
  )
}

function plainTable(rows: readonly Row[]): string {
  return markdownTable(
    ['subject', 'metric', 'median'],
    rows.map(row => [row.subject, row.metric, `${shown(row.value)} ${row.unit}`]),
  )
}

function barsOf(rows: readonly Row[]): string {
  const RATES = [
    ...[
      ['upload', 'http', 'throughput'],
      ['dag', 'http', 'files'],
      ['small', 'http', 'one-by-one'],
    ],
    ...[
      ['small', 'http', 'sixteen-at-once'],
      ['gateway', 'large', 'throughput'],
      ['gateway', 'http', 'by-path'],
    ],
    ...[
      ['gateway', 'small', 'requests'],
      ['fetch', 'fetch-file', 'throughput-from-kubo'],
    ],
    ...[
      ['fetch', 'fetch-tree', 'files-from-kubo'],
      ['status', 'http', 'look-ups'],
      ['delete', 'http', 'deletes'],
    ],
  ] as const
  const figureOf = (bench: string, subject: string, metric: string): number | undefined =>
    rows.find(row => row.bench === bench && row.subject === subject && row.metric === metric)?.value
  const bars = RATES.flatMap(([bench = '', subject = '', metric = '']) => {
    const [ours, theirs] = [figureOf(bench, subject, metric), figureOf(bench, 'kubo', metric)]
    return ours === undefined || theirs === undefined ? [] : [{ name: `${bench}, ${metric}`, ratio: ours / theirs }]
  })
  return barsSvg('Ours to Kubo’s with its defaults, which do not sync', bars)
}

function barsSvg(title: string, bars: ReadonlyArray<{ name: string; ratio: number }>): string {
  const [left, width, line] = [230, 420, 26]
  const height = 60 + bars.length * line
  const most = Math.max(2, ...bars.map(({ ratio }) => ratio))
  const one = left + width / most
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    `<rect width="720" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="bold">${title}</text>`,
    ...bars.map(({ name, ratio }, index) => {
      const y = 40 + index * line
      const extent = ((ratio / most) * width).toFixed(1)
      return (
        `<text x="${left - 10}" y="${y + 14}" text-anchor="end">${name}</text>` +
        `<rect x="${left}" y="${y}" width="${extent}" height="18" fill="${ratio >= 1 ? '#0b6e99' : '#c2410c'}"/>` +
        `<text x="${(left + Number(extent) + 6).toFixed(1)}" y="${y + 14}">${ratio.toFixed(2)}</text>`
      )
    }),
    `<path d="M${one.toFixed(1)} 36V${height - 16}" stroke="#333333" stroke-dasharray="4 3"/>`,
    '</svg>',
    '',
  ].join('\n')
}
