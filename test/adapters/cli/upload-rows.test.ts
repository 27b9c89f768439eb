import { expect, test } from 'vitest'
import { uploadLines } from '../../../adapters/cli/upload-rows.ts'
import type { ListedUpload } from '../../../adapters/client/index.ts'

const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'

function row(fields: Partial<ListedUpload>): ListedUpload {
  const at = '2026-05-04T03:02:01.000Z'
  return {
    ...{
      cid: CID,
      clusterId: 'cl0-global',
      uploadId: 'u',
      type: 'file',
      visibility: 'public',
      status: 'pinned',
      size: 1_500_000,
      dagSize: 1,
    },
    ...{ createdAt: at, uploadedAt: at, expiresAt: null, originalName: null, customName: null, meta: {} },
    ...{ parentCid: null, path: null, name: 'short.txt' },
    ...fields,
  }
}

const rows = [
  row({}),
  row({ name: 'long '.repeat(30), expiresAt: '2099-01-01T00:00:00.000Z', status: 'pinning', size: 999_949 }),
  row({ name: 'evil\u202Ename', size: 0 }),
]

test('a list fits 80 columns, with every CID whole', () => {
  const lines = uploadLines(rows, { areFiles: false, withHeader: true, columns: 80 })
  expect(lines.every(line => line.length <= 80)).toBe(true)
  expect(lines).toEqual([
    `${CID}    1.5 MB`,
    '  short.txt  2026-05-04 03:02, cl0-global',
    `${CID}  999.9 kB`,
    '  long long long long…  pinning, until 2099-01-01 00:00, 2026-05-04 03:02, cl0-…',
    `${CID}       0 B`,
    '  evil\uFFFDname  2026-05-04 03:02, cl0-global',
  ])
  const files = rows.map(({ name, ...rest }) => row({ ...rest, path: `below/${name}` }))
  const listed = uploadLines(files, { areFiles: true, withHeader: true, columns: 80 })
  expect(listed.every(line => line.length <= 80)).toBe(true)
  expect(listed[1]).toBe('  below/short.txt')
})

test('it is a table if it fits, or without a terminal', () => {
  const [header, first] = uploadLines(rows, { areFiles: false, withHeader: true, columns: null })
  expect(header).toMatch(/^CID +SIZE {2}STATUS {3}CLUSTER {5}UPLOADED {10}EXPIRES {11}NAME$/)
  expect(first).toMatch(/ 1\.5 MB {2}pinned .* never +short\.txt$/)
  expect(uploadLines(rows, { areFiles: false, withHeader: true, columns: 400 })[0]).toBe(header)
})
