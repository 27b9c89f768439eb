import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RevisionLog } from '../../../src/content/revision-log.ts'
import { nodeFileSystem } from '../../../src/disk/node-file-system.ts'
import type { FileSystem } from '../../../src/domain/file-system.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { SharedTakedowns } from '../../../src/gateway/policy/shared-takedowns.ts'
import type { NodeTakedowns } from '../../../src/gateway/policy/takedown-list.ts'
import { Takedowns } from '../../../src/gateway/policy/takedowns.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { noWithholding } from '../../support/no-withholding.ts'

const [BAD, WORSE, WORST] = [
  'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy',
  'bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e',
  'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku',
].map(text => CID.parse(text)) as [CID, CID, CID]

let dataDir: string
let path: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdfast-takedown-file-'))
  path = join(dataDir, 'takedowns.deny')
  await nodeFileSystem.makeDirectory(join(dataDir, 'tmp'))
})

afterEach(() => rm(dataDir, { recursive: true, force: true }))

const open = (
  files: Partial<FileSystem> = {},
  revisions: RevisionLog = new RevisionLog(new ManualClock(), null),
): Takedowns =>
  Takedowns.open(path, {
    fileSystem: { ...nodeFileSystem, ...files },
    clock: new ManualClock(),
    logger: silentLogger,
    withholding: noWithholding,
    revisions,
  })

const add = (takedowns: Takedowns, cid: CID, under = '') => takedowns.add({ cid: `${cid}`, path: under, reason: 'x' })
const statuses = ({ denylist }: Pick<NodeTakedowns, 'denylist'>) =>
  [BAD, WORSE, WORST].map(cid => [denylist.statusOf(cid), denylist.statusOf(cid, ['a', 'b'])])
const inOtherCodec = ({ multihash }: CID): CID => CID.createV1(0x70, multihash)
const inode = async () => (await stat(path)).ino

test('an added takedown is appended, and threads read only its lines', async () => {
  const takedowns = open()
  await add(takedowns, BAD)
  const thread = new SharedTakedowns(path, takedowns.list.published)
  const [list, file] = [thread.denylist, await inode()]
  await add(takedowns, WORSE, 'a')
  expect(await inode()).toBe(file)
  expect(thread.denylist).toBe(list)
  const expected = [
    [410, null],
    [null, 410],
    [null, null],
  ]
  for (const one of [takedowns.list, thread, open().list]) expect(statuses(one)).toEqual(expected)
})

test('only a change of the takedowns is a revision', async () => {
  const revisions = new RevisionLog(new ManualClock(), null)
  const takedowns = open({}, revisions)
  await takedowns.start()
  expect(revisions.number).toBe(0)
  for (let i = 0; i < 2; i++) await add(takedowns, BAD)
  expect(revisions.number).toBe(1)
  await takedowns.remove({ cid: `${BAD}` })
  expect(revisions.number).toBe(2)
})

test('a lifted takedown is appended, and threads read only its line', async () => {
  const takedowns = open()
  for (const name of 'abcdef') await add(takedowns, WORST, name)
  await add(takedowns, BAD)
  await add(takedowns, WORSE, 'a')
  await add(takedowns, inOtherCodec(WORSE), 'a')
  const thread = new SharedTakedowns(path, takedowns.list.published)
  const [list, file] = [thread.denylist, await inode()]
  await takedowns.remove({ cid: `${BAD}` })
  await takedowns.remove({ cid: `${inOtherCodec(WORSE)}`, path: 'a' })
  expect([await inode(), thread.denylist]).toEqual([file, list])
  for (const one of [takedowns.list, thread, open().list]) {
    expect(statuses(one).slice(0, 2)).toEqual([
      [null, null],
      [null, 410],
    ])
  }
  await takedowns.remove({ cid: `${WORSE}`, path: 'a' })
  for (const one of [takedowns.list, thread, open().list]) {
    expect([...statuses(one).slice(0, 2).flat(), one.denylist.statusOf(WORSE, ['a'])]).toEqual(Array(5).fill(null))
  }
  const { rows } = open().page({ after: null, limit: 9 })
  expect(rows).toEqual(takedowns.page({ after: null, limit: 9 }).rows)
  expect(rows.map(({ path: name }) => name).join('')).toBe('abcdef')
})

test('a lift leaves the takedown of the same bytes with another codec', async () => {
  const takedowns = open()
  for (const name of 'abcdef') await add(takedowns, WORST, name)
  await add(takedowns, inOtherCodec(BAD))
  await add(takedowns, BAD)
  const thread = new SharedTakedowns(path, takedowns.list.published)
  expect(thread.denylist.statusOf(BAD)).toBe(410)
  for (const [cid, status] of [
    [BAD, 410],
    [inOtherCodec(BAD), null],
  ] as const) {
    await takedowns.remove({ cid: `${cid}` })
    for (const one of [takedowns.list, thread, open().list]) expect(one.denylist.statusOf(BAD)).toBe(status)
  }
})

test('a start keeps the takedown whose lift is torn', async () => {
  for (const name of 'abcdef') await add(open(), WORST, name)
  await add(open(), BAD)
  const whole = await readFile(path, 'utf8')
  await writeFile(path, `${whole}# lifted /ipfs/${BAD}`)
  const takedowns = open()
  await takedowns.start()
  expect([takedowns.list, open().list].map(({ denylist }) => denylist.statusOf(BAD))).toEqual([410, 410])
  expect(takedowns.page({ after: null, limit: 9 }).rows.length).toBe(7)
  expect(await readFile(path, 'utf8')).toBe(whole)
})

test('threads read a rewritten file again', async () => {
  const takedowns = open()
  await add(takedowns, BAD)
  const thread = new SharedTakedowns(path, takedowns.list.published)
  expect(thread.denylist.statusOf(BAD)).toBe(410)
  await takedowns.remove({ cid: `${BAD}` })
  // The file has the same length as before.
  await add(takedowns, WORSE)
  for (const one of [takedowns.list, thread, open().list]) {
    expect([BAD, WORSE].map(cid => one.denylist.statusOf(cid))).toEqual([null, 410])
  }
})

test('lifts do not let the file grow without a bound', async () => {
  const takedowns = open()
  for (const name of 'abcdef') await add(takedowns, WORST, name)
  for (let i = 0; i < 20; i++) {
    await add(takedowns, BAD)
    await takedowns.remove({ cid: `${BAD}` })
  }
  expect((await readFile(path, 'utf8')).split('\n').length).toBeLessThan(30)
})

test('renewed takedowns do not let the file grow without a bound', async () => {
  const takedowns = open()
  for (let i = 0; i < 10; i++) await takedowns.add({ cid: `${BAD}`, reason: `${i}` })
  expect((await readFile(path, 'utf8')).match(/ reason:/g)?.length).toBeLessThan(4)
})

test('a start removes the torn end of the file', async () => {
  await add(open(), BAD)
  const whole = await readFile(path, 'utf8')
  await writeFile(path, `${whole}/ipfs/${WORSE}`)
  const takedowns = open()
  expect(takedowns.list.denylist.statusOf(WORSE)).toBe(null)
  await takedowns.start()
  expect(await readFile(path, 'utf8')).toBe(whole)
  await add(takedowns, WORST)
  expect([BAD, WORSE, WORST].map(cid => open().list.denylist.statusOf(cid))).toEqual([410, null, 410])
})

test('a start completes a takedown whose second rule is missing', async () => {
  await add(open(), BAD, 'a')
  const whole = await readFile(path, 'utf8')
  await writeFile(path, whole.slice(0, whole.lastIndexOf('/ipfs/')))
  const takedowns = open()
  await takedowns.start()
  expect(takedowns.list.denylist.statusOf(BAD, ['a', 'b'])).toBe(410)
  expect(await readFile(path, 'utf8')).toBe(whole)
})

test('a failed append is undone, or has an unknown outcome', async () => {
  const failing: Partial<FileSystem> = {
    append: async name => {
      const file = await nodeFileSystem.append(name)
      return { ...file, datasync: () => Promise.reject(new Error('EIO')) }
    },
  }
  await add(open(), BAD)
  const whole = await readFile(path, 'utf8')
  const takedowns = open(failing)
  await expect(add(takedowns, WORSE)).rejects.toThrow('EIO')
  expect(await readFile(path, 'utf8')).toBe(whole)
  const stuck = open({ ...failing, rename: () => Promise.reject(new Error('EIO')) })
  await expect(add(stuck, WORSE)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
})
