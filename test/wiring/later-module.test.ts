import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { ApiRequest } from '../../src/index.ts'
import { makeBorder } from '../../src/wiring/border.ts'
import { LaterModule } from '../../src/wiring/later-module.ts'

const TOOL = join(import.meta.dirname, '../../tools/loaded-files.ts')

/** Files that an engine without network loads only for what it serves, for calls, and when they are due. */
const LATER = [
  /^src\/contract\/(?!remembered-answers)/,
  /^src\/gateway\/(?!site\/(documents-apart|subdomain))/,
  /^src\/backup\//,
  /^src\/upkeep\/(?!due-verification|history|recent-failures)/,
  /^src\/pins\/(lists\/pin-list|upload\/car-importer|fetch\/fetch-attempt|placement\/placement-runner|announcer)\.ts$/,
  /^src\/access\/(credentials\/authenticator|sign-in\/(login-service|provider-logins)|sessions\/session-token)\.ts$/,
]

describe('a module that is loaded later', () => {
  test('is made and started once for all callers', async () => {
    const told: string[] = []
    const later = new LaterModule(async () => {
      told.push('made')
      return { start: async () => void told.push('started') }
    })
    expect(later.made).toBeNull()
    const [first, second] = await Promise.all([later.load(), later.load()])
    expect([first === second, later.made === first, told]).toEqual([true, true, ['made', 'started']])
  })

  test('is made again after a failure', async () => {
    let calls = 0
    const later = new LaterModule(async () => {
      if (calls++ === 0) throw new Error('the file cannot be read')
      return {}
    })
    await expect(later.load()).rejects.toThrow('the file cannot be read')
    await expect(later.load()).resolves.toEqual({})
  })

  test('ends its load before a stop resolves', async () => {
    const told: string[] = []
    const file = Promise.withResolvers<void>()
    const later = new LaterModule(async () => {
      await file.promise
      return { start: async () => void told.push('started'), stop: async () => void told.push('stopped') }
    })
    const loaded = later.load()
    const stopped = later.stop().then(() => told.push('end of the stop'))
    file.resolve()
    await expect(loaded).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await stopped
    expect(told).toEqual(['end of the stop'])
  })

  test('refuses to load after a stop, without reading a file', async () => {
    const later = new LaterModule(() => Promise.reject(new Error('it was read')))
    await later.stop()
    await expect(later.load()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

test('a request whose load a stop ends is 503', async () => {
  const file = Promise.withResolvers<never>()
  const http = new LaterModule<never>(() => file.promise)
  let isStopping = false
  const setup = { config: { trustedProxies: 0, gateway: {} } } as Parameters<typeof makeBorder>[0]
  const below = { http, gateway: http, signInProvider: null }
  const border = makeBorder(setup, below as unknown as Parameters<typeof makeBorder>[1], () => isStopping)
  const answer = border.api({} as ApiRequest)
  isStopping = true
  file.reject(new Error('the node is stopping'))
  expect((await answer).status).toBe(503)
})

test('an engine that keeps content loads neither API, gateway, backup nor upkeep', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [TOOL, '--files'])
  const files = stdout.trim().split('\n')
  const [, lines, code] = /^\d+ files, (\d+) lines, (\d+) of code$/.exec(files.at(-1) ?? '') ?? []
  expect(files).toContain('src/pins/pin-service.ts')
  expect(files.filter(path => LATER.some(room => room.test(path)))).toEqual([])
  expect(Number(lines)).toBeLessThanOrEqual(32_000)
  expect(Number(code)).toBeLessThanOrEqual(25_500)
})
