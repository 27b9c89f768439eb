import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tarHeader } from '../../../src/gateway/representations/tar-header.ts'
import { say, scriptedServer } from '../../support/scripted-server.ts'
import { MAIN, runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'
const isDirectory = say(301, '', { location: `/ipfs/${CID}/` })

let directory: ReturnType<typeof temporaryDirectory>
beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => directory.remove())

/** Returns a server whose archive stops in the middle of a large file, and no more. */
function stalled() {
  return scriptedServer((request, response) => {
    if (!request.url?.includes('format=tar')) return isDirectory(request, response)
    response.writeHead(200, { 'content-type': 'application/x-tar' })
    response.write(tarHeader({ name: 'top/large', type: 'file', size: 1_000_000 }))
    response.write(Buffer.alloc(100_000))
  })
}

test('a signal deletes the unfinished folder or file', async () => {
  for (const flags of [[], ['--tar']]) {
    await using server = await stalled()
    const args = ['get', CID, ...flags, '--out', 'site', '--api', server.base, '--key', 'k']
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: directory.path })
    await expect.poll(() => readdirSync(directory.path)).toEqual([expect.stringMatching(/^site/)])
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([null, 'SIGINT'])
    expect(readdirSync(directory.path)).toEqual([])
  }
})

test('ends if nothing can be written, although the server sends no more', async () => {
  for (const flags of [[], ['--tar']]) {
    await using server = await stalled()
    const args = ['get', CID, ...flags, '--out', join('missing', 'site'), '--api', server.base, '--key', 'k']
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: directory.path })
    expect(await once(child, 'close')).toEqual([1, null])
  }
})

test('names the file of an escaped URL in the current directory', async () => {
  await using server = await scriptedServer(say(200, 'text'))
  mkdirSync(join(directory.path, 'a/b'), { recursive: true })
  const get = async (path: string): Promise<unknown> => {
    const args = ['get', `https://evil.example/ipfs/${CID}/${path}`, '--api', server.base, '--key', 'k']
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: join(directory.path, 'a/b') })
    return (await once(child, 'close'))[0]
  }
  expect([await get('b%2Fescaped'), await get('..%2F..%2Fother')]).toEqual([0, 1])
  expect(readdirSync(directory.path, { recursive: true }).sort()).toEqual(['a', 'a/b', 'a/b/escaped'])
})

test('names a path that cannot be written, and keeps it', async () => {
  writeFileSync(join(directory.path, 'file'), '')
  mkdirSync(join(directory.path, 'folder'))
  for (const [name, message] of [
    ['folder', 'is not a file'],
    ['file/a', 'cannot write .*: ENOTDIR'],
    ['missing/a', 'cannot write .*: ENOENT'],
  ] as const) {
    await using server = await scriptedServer(say(200, 'text'))
    const path = join(directory.path, name)
    const finished = await runHoldfast(['get', CID, '--out', path, '--api', server.base, '--key', 'k'])
    expect(finished).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(RegExp(`^.*${message}.*\n$`)) })
  }
  expect(readdirSync(directory.path)).toEqual(['file', 'folder'])
})
