/** A figure of a run by bench, subject and metric. `of` selects a cost instead of the value. */
export interface FigureOf {
  bench: string
  subject: string
  metric: string
  of?: 'value' | 'cpuMs' | 'peakMiB'
}

/** A goal: a ratio to another figure, with higher being better, or an absolute bound. */
export type Goal =
  | { against: string; metric?: string; atLeast: number }
  | { against: string; metric?: string; atMost: number }
  | { atMost: number }

/** A line of the table: a figure of Holdfast, the machine's limit and the goals. */
export interface TableLine {
  work: string
  ours: FigureOf
  /** Subject, and metric if it differs, that shows the limit of the machine. */
  limit?: { subject: string; metric?: string }
  goals: readonly Goal[]
}

export const CONTENDERS = ['kubo', 'kubo-sync', 'kubo-pebble', 'cluster'] as const

const upload = { bench: 'upload', subject: 'http', metric: 'throughput' }
const dag = { bench: 'dag', subject: 'http', metric: 'files' }
const small = (metric: string) => ({ bench: 'small', subject: 'http', metric })
const gateway = (subject: string, metric: string) => ({ bench: 'gateway', subject, metric })
const fetch = (subject: string, metric: string) => ({ bench: 'fetch', subject, metric })

export const TABLE: readonly TableLine[] = [
  {
    work: '512 MiB by HTTP, MB/s',
    ours: upload,
    limit: { subject: 'limit-http' },
    goals: [
      { against: 'limit-http', atLeast: 0.8 },
      { against: 'kubo', atLeast: 1 },
      { against: 'kubo-sync', atLeast: 1.2 },
    ],
  },
  {
    work: 'the same: processor, ms for each MB',
    ours: { ...upload, of: 'cpuMs' },
    limit: { subject: 'limit-http' },
    goals: [{ against: 'kubo', atLeast: 1 }],
  },
  {
    work: 'the same: memory at most, MiB',
    ours: { ...upload, of: 'peakMiB' },
    limit: { subject: 'limit-http' },
    goals: [{ atMost: 200 }],
  },
  {
    work: '5,000 files of 4 KiB as a form, files/s',
    ours: dag,
    goals: [
      { against: 'kubo', atLeast: 1.2 },
      { against: 'kubo-sync', atLeast: 3 },
    ],
  },
  { work: 'the same: processor, ms for each file', ours: { ...dag, of: 'cpuMs' }, goals: [] },
  {
    work: 'uploads of 4 KiB one by one, /s',
    ours: small('one-by-one'),
    limit: { subject: 'limit-http' },
    goals: [
      { against: 'kubo-sync', atLeast: 1.2 },
      { against: 'kubo', atLeast: 0.9 },
    ],
  },
  {
    work: 'uploads of 4 KiB, 16 at once, /s',
    ours: small('sixteen-at-once'),
    limit: { subject: 'limit-http' },
    goals: [{ against: 'kubo', atLeast: 1.3 }],
  },
  { work: 'the same: processor, ms for each', ours: { ...small('sixteen-at-once'), of: 'cpuMs' }, goals: [] },
  {
    work: 'gateway, 200 MiB, MB/s',
    ours: gateway('large', 'throughput'),
    limit: { subject: 'limit' },
    goals: [{ against: 'limit', atLeast: 0.8 }],
  },
  {
    work: 'gateway, 4 KiB by path, /s',
    ours: gateway('http', 'by-path'),
    limit: { subject: 'limit-threads', metric: 'requests' },
    goals: [
      { against: 'kubo', atLeast: 1 },
      { against: 'limit-threads', metric: 'requests', atLeast: 0.6 },
    ],
  },
  {
    work: 'gateway, 4 KiB by CID, /s',
    ours: gateway('small', 'requests'),
    limit: { subject: 'limit-threads' },
    goals: [
      { against: 'kubo', atLeast: 0.9 },
      { against: 'limit-threads', atLeast: 0.8 },
    ],
  },
  { work: 'gateway, not modified, /s', ours: gateway('http', 'not-modified'), goals: [] },
  {
    work: 'pin 100 MiB from Kubo, MB/s',
    ours: fetch('fetch-file', 'throughput-from-kubo'),
    goals: [{ against: 'kubo', atLeast: 0.9 }],
  },
  {
    work: 'pin 2,000 files of 4 KiB from Kubo, files/s',
    ours: fetch('fetch-tree', 'files-from-kubo'),
    goals: [{ against: 'kubo', atLeast: 1.5 }],
  },
  {
    work: 'status at 6,000 pins, /s',
    ours: { bench: 'status', subject: 'http', metric: 'look-ups' },
    goals: [{ against: 'kubo', atLeast: 0.5 }],
  },
  {
    work: 'authenticated list of 20, /s',
    ours: { bench: 'list', subject: 'http', metric: 'page-of-20' },
    limit: { subject: 'fastify' },
    goals: [{ against: 'fastify', atLeast: 0.5 }],
  },
  {
    work: '3,000 deletes, /s',
    ours: { bench: 'delete', subject: 'http', metric: 'deletes' },
    goals: [{ against: 'kubo', atLeast: 1 }],
  },
  {
    work: 'upload of 4 KiB meanwhile, median ms',
    ours: { bench: 'delete', subject: 'http', metric: 'upload-meanwhile' },
    goals: [{ against: 'http', metric: 'upload-idle', atMost: 2 }],
  },
  {
    work: 'upload held by a collection, longest ms',
    ours: { bench: 'collect', subject: 'http', metric: 'upload-longest' },
    goals: [{ atMost: 30 }],
  },
  { work: 'start, ms', ours: { bench: 'start', subject: 'http', metric: 'start' }, goals: [] },
]

export const TABLE_SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  upload: ['http', 'limit-http', ...CONTENDERS],
  dag: ['http', ...CONTENDERS],
  small: ['http', 'limit-http', ...CONTENDERS],
  fetch: ['fetch-file', 'fetch-tree', 'kubo', 'kubo-pebble'],
  gateway: ['large', 'small', 'http', 'limit', 'limit-threads', 'kubo', 'kubo-pebble', 'nginx'],
  list: ['http', 'fastify'],
  status: ['http', ...CONTENDERS],
  delete: ['http', ...CONTENDERS],
  collect: ['http', ...CONTENDERS],
  start: ['http', ...CONTENDERS],
}
