import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine
beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'))
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

const job = (...args: string[]) => runHoldfast(['job', ...args], served.env)

/** Stores a file, and returns the id of its record. */
async function stored(name: string): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([name]), name)
  const headers = { authorization: `Bearer ${served.key}` }
  const answer = await fetch(`${served.url}/api/v3/files`, { method: 'POST', headers, body: form })
  return ((await answer.json()) as { uploadId: string }).uploadId
}

/** Returns all records, which `keep` selects, as the command line prints them. */
async function listed(part: string): Promise<string> {
  return (await runHoldfast(['ls', '--name', part, '--json'], served.env)).stdout
}

test('a filter counts, deletes with its number, and is undone', async () => {
  for (const name of ['draft-1', 'draft-2', 'draft-final']) await stored(name)
  const before = await listed('draft')
  const counted = await job('delete', '--name', 'DRAFT')
  expect(counted).toMatchObject({ code: 1, stdout: '' })
  expect(counted.stderr).toContain('3 pins selected, nothing was changed: repeat with --expected 3')
  expect(await job('delete', '--name', 'draft', '--expected', '2')).toMatchObject({ code: 1 })
  expect(await listed('draft')).toBe(before)
  const deleted = await job('delete', '--name', 'draft', '--expected', '3')
  expect(deleted).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^3 pins deleted\nto undo until 2/),
  })
  expect(await listed('draft')).toBe('')
  const [, id = ''] = /holdfast job undo (\S+)/.exec(deleted.stdout) ?? []
  expect((await job('list')).stdout).toMatch(new RegExp(`^${id} +delete +done +3 +3 +0 .*Z$`, 'm'))
  expect(await job('undo', id)).toEqual({ code: 0, stderr: '', stdout: '3 pins restored\n' })
  expect(await listed('draft')).toBe(before)
  expect(await job('undo', 'none')).toMatchObject({ code: 1, stderr: expect.stringContaining('no job has this id') })
})

test('an edit names the pins that it could not change', async () => {
  const ids = [await stored('old-1'), await stored('old-2')]
  const edited = await job('edit', ...ids, 'none', '--find', 'old', '--replace', 'new')
  expect(edited).toMatchObject({ code: 1, stdout: '2 pins renamed\nnone  NOT_FOUND\n' })
  expect(edited.stderr).toContain('1 pin unchanged')
  expect(await listed('old')).toBe('')
  const expired = await job('edit', '--name', 'new', '--expected', '2', '--timelock', '2090-01-31T12:00:00Z', '--json')
  expect(JSON.parse(expired.stdout)).toMatchObject({ action: 'timelock', state: 'done', done: 2 })
  expect(await listed('new')).toMatch(/"expiresAt":"2090-01-31T12:00:00.000Z".*\n.*"2090-01-31T12/)
  const moved = await job('edit', ...ids, '--cluster', 'cl1-eu', '--no-wait')
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+ {2}running, see holdfast job list\n$/) })
})

test('an edit makes the public pins of a filter private', async () => {
  await stored('shown-1')
  const edit = ['edit', '--name', 'shown', '--visibility', 'private', '--expected', '1']
  const done = await job(...edit, '--only', 'public')
  expect(done).toMatchObject({ code: 0, stdout: '1 pin made public or private\n' })
  expect(await listed('shown')).toContain('"visibility":"private"')
  expect(await job(...edit, '--only', 'public')).toMatchObject({ code: 1, stderr: expect.stringContaining('0 pins') })
})

test.each([
  ['delete', /select pins by ids, by filters or by --all/],
  ['delete --all --name draft', /by filters or by --all/],
  ['delete some-id --name draft', /ids or filters, not both/],
  ['delete --all --expected many', /--expected must be a whole number/],
  ['edit --all', /give one edit/],
  ['edit --all --timelock never --cluster cl1-eu', /give one edit/],
  ['undo', /id of a job is needed/],
])('the wrong command "job %s" changes nothing', async (line, message) => {
  expect(await job(...line.split(' '))).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
})
