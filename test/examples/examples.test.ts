import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openService, type Service } from '../clients/service.ts'
import { linkPackage } from '../support/linked-package.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

let dir: string
const children: ChildProcess[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-examples-'))
})

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await rm(dir, { recursive: true, force: true })
})

interface Running {
  child: ChildProcess
  /** Waits until the output matches. */
  said(pattern: RegExp): Promise<string>
  /** Waits for the process to end. */
  ended(): Promise<{ code: number | null; stdout: string; stderr: string }>
}

async function start(name: string, args: readonly string[], env: Record<string, string>): Promise<Running> {
  await copyFile(join(EXAMPLES, name), join(dir, name))
  const child = spawn(process.execPath, [name, ...args], { cwd: dir, env: { ...process.env, ...env } })
  children.push(child)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
      child.emit('said')
    })
  }
  const closed = once(child, 'close')
  return {
    child,
    said: async pattern => {
      for (;;) {
        const found = pattern.exec(output.stdout)?.[1]
        if (found !== undefined) return found
        if (child.exitCode !== null) throw new Error(`${name} ended: ${output.stdout}${output.stderr}`)
        await Promise.race([once(child, 'said'), closed])
      }
    },
    ended: async () => {
      await closed
      return { code: child.exitCode, ...output }
    },
  }
}

test('every example has a test', async () => {
  expect((await readdir(EXAMPLES)).filter(name => name.endsWith('.js')).toSorted()).toEqual([
    'embed-fastify.js',
    'embed-node-http.js',
    'upload-folder.js',
    'upload-page.js',
  ])
})

describe.each([
  { name: 'embed-node-http.js', note: { body: 'remember\n' }, others: [] },
  {
    name: 'embed-fastify.js',
    note: { body: JSON.stringify({ text: 'remember' }), headers: { 'content-type': 'application/json' } },
    others: ['fastify'],
  },
])('$name', ({ name, note, others }) => {
  test('serves app and storage together, and stops on a signal', async () => {
    await linkPackage(dir, others)
    const running = await start(name, [], { PORT: '0', DATA_DIR: join(dir, 'data') })
    const url = await running.said(/listening on (\S+)/)
    const key = await running.said(/key for \S+: (\S+)/)

    const kept = await fetch(`${url}/notes`, { method: 'POST', ...note })
    expect(kept.status).toBe(201)
    const { cid, url: path } = (await kept.json()) as { cid: string; url: string }
    expect(await (await fetch(url + path)).text()).toBe('remember\n')

    const list = await fetch(`${url}/storage/api/v3/users/me/uploads`, { headers: { 'x-api-key': key } })
    expect(await list.json()).toMatchObject({ total: 1, uploads: [{ cid, name: 'note.txt' }] })
    const clusters = await fetch(`${url}/storage/api/v3/users/me/clusters`, { headers: { 'x-api-key': key } })
    const [{ gateways }] = (await clusters.json()) as [{ gateways: [{ publicUrl: string }] }]
    expect(await (await fetch(gateways[0].publicUrl + cid)).text()).toBe('remember\n')
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404)

    running.child.kill('SIGTERM')
    expect(await running.ended()).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('upload-folder.js', () => {
  let service: Service

  beforeEach(async () => {
    service = await openService()
  })
  afterEach(() => service.close())

  test('uploads the folder and shows its progress', async () => {
    const { secret } = await service.customer()
    await mkdir(join(dir, 'photos', 'sub'), { recursive: true })
    await writeFile(join(dir, 'photos', 'a "b".txt'), 'first')
    await writeFile(join(dir, 'photos', 'sub', 'c.bin'), Buffer.alloc(1_500_000, 7))
    await writeFile(join(dir, 'photos', 'empty'), '')
    const running = await start('upload-folder.js', ['photos', service.base], { HOLDFAST_API_KEY: secret })
    const { code, stdout, stderr } = await running.ended()
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 files, 1.5 MB')])
    expect(stderr).toContain('█ 100 %  1.5 MB\n')
    const cid = stdout.trim()
    expect(await (await fetch(`${service.gateway}${cid}/a%20%22b%22.txt`)).text()).toBe('first')
    const large = await (await fetch(`${service.gateway}${cid}/sub/c.bin`)).arrayBuffer()
    expect(Buffer.from(large).equals(Buffer.alloc(1_500_000, 7))).toBe(true)
  })

  test('reports the error', async () => {
    await mkdir(join(dir, 'empty'))
    const refused = await start('upload-folder.js', ['empty', service.base], { HOLDFAST_API_KEY: 'wrong' })
    expect(await refused.ended()).toMatchObject({ code: 1, stderr: expect.stringContaining('INVALID_API_KEY') })
    const { secret } = await service.customer()
    const nothing = await start('upload-folder.js', ['empty', service.base], { HOLDFAST_API_KEY: secret })
    expect((await nothing.ended()).stderr).toMatch(/0 files[\s\S]*(INVALID_PATH|VALIDATION): /)
    const unused = await start('upload-folder.js', [], { HOLDFAST_API_KEY: '' })
    expect(await unused.ended()).toMatchObject({ code: 2, stderr: expect.stringContaining('usage') })
  })
})

describe('upload-page.js', () => {
  test('gives each visit a token for three uploads only', async () => {
    const service = await openService()
    try {
      const { secret } = await service.customer()
      const running = await start('upload-page.js', [service.base], { HOLDFAST_API_KEY: secret, PORT: '0' })
      const url = await running.said(/listening on (\S+)/)
      const html = await (await fetch(url)).text()
      expect(html).not.toContain(secret)
      const token = JSON.parse(/const token = (".*")/.exec(html)?.[1] ?? '""') as string
      const send = (content: string) => {
        const form = new FormData()
        form.append('file', new Blob([content]), 'note.txt')
        return fetch(`${service.base}/files`, { method: 'POST', headers: { 'x-api-key': token }, body: form })
      }
      for (const content of ['one', 'two', 'three']) expect((await send(content)).status).toBe(201)
      expect((await send('four')).status).toBe(403)
      expect((await fetch(`${service.base}/users/me`, { headers: { 'x-api-key': token } })).status).toBe(403)
      running.child.kill('SIGTERM')
      expect(await running.ended()).toMatchObject({ code: 0, stderr: '' })
    } finally {
      await service.close()
    }
  })
})
