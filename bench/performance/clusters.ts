import type { Row } from '../report.ts'
import { markdownTable, shown } from './markdown.ts'

/** Column titles by subject, in order. A subject without results has no column. */
const SUBJECTS: Readonly<Record<string, string>> = {
  embedded: 'embedded',
  'on-kubo': 'on a Kubo',
  kubo: '`ipfs add`',
  'on-ipfs-cluster': 'on an IPFS Cluster',
  'ipfs-cluster': '`ipfs-cluster-ctl add`',
}
const WORKS: Readonly<Record<string, string>> = {
  'one-by-one': 'uploads of 4 KiB, one by one',
  'sixteen-at-once': 'the same, 16 at once',
  file: 'a file of 100 MiB',
  folder: 'a folder of 5,000 files of 4 KiB',
  'read-file': 'the file, read',
  'read-ranges': 'ranges of 1 MiB of it, one by one',
  'read-small': 'files of 4 KiB, 16 at once',
}
/** Suffixes of metrics, with their titles and additions to the unit. */
const FIGURES: ReadonlyArray<{ of: string; says: string; each?: string }> = [
  { of: '', says: '' },
  { of: '-pinned', says: 'until pinned' },
  { of: '-cpu-ours', says: 'processor of the node', each: ' each' },
  { of: '-cpu-theirs', says: 'processor of the cluster', each: ' each' },
  { of: '-written-ours', says: 'written by the node', each: ' each' },
  { of: '-written-theirs', says: 'written by the cluster', each: ' each' },
]

/** Formats a line for each figure of a work, and a column for each subject. */
export function clustersTable(rows: readonly Row[]): string {
  const own = rows.filter(({ bench }) => bench === 'clusters')
  const subjects = Object.keys(SUBJECTS).filter(name => own.some(({ subject }) => subject === name))
  const lines = Object.entries(WORKS).flatMap(([work, title]) =>
    FIGURES.flatMap(({ of, says, each = '' }) => {
      const found = own.filter(({ metric }) => metric === `${work}${of}`)
      const [first] = found
      if (first === undefined) return []
      const cells = subjects.map(name => found.find(({ subject }) => subject === name)?.value)
      const what = says === '' ? title : `– ${says}`
      return [[`${what}, ${first.unit}${each}`, ...cells.map(value => (value === undefined ? '–' : shown(value)))]]
    }),
  )
  return markdownTable(['work', ...subjects.map(name => SUBJECTS[name] ?? name)], lines)
}
