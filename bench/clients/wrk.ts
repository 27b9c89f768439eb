import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Hammering, Load } from './load.ts'

/** Loads a server with wrk for some whole seconds. wrk takes only a small part of a core. */
export async function hammerWithWrk(program: string, hammering: Hammering): Promise<Load> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-wrk-'))
  try {
    const script = join(dir, 'script.lua')
    await writeFile(script, scriptOf(hammering))
    const origin = new URL(hammering.calls[0]?.url ?? '').origin
    const { connections, seconds } = hammering
    const args = ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '--timeout', '60s', '--latency', '-s', script]
    const { stdout } = await promisify(execFile)(program, [...args, origin])
    return readWrk(stdout)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Returns a Lua script for wrk: makes the calls in turn, each with a different body if required. */
export function scriptOf({ calls, formBytes }: Hammering): string {
  const [first] = calls
  if (first === undefined) throw new Error('there are no calls to make')
  const paths = calls.map(({ url }) => `  ${JSON.stringify(new URL(url).pathname + new URL(url).search)},`)
  const boundary = `bench-${randomBytes(8).toString('hex')}`
  const headers = {
    ...first.headers,
    ...(formBytes && { 'content-type': `multipart/form-data; boundary=${boundary}` }),
  }
  const disposition = 'content-disposition: form-data; name=\\"file\\"; filename=\\"bench.bin\\"'
  return [
    'local paths = {',
    ...paths,
    '}',
    `local headers = {${Object.entries(headers).map(([name, value]) => ` [${JSON.stringify(name)}] = ${JSON.stringify(value)}`)} }`,
    'local turn = 0',
    'local tail = nil',
    'function request()',
    '  turn = turn + 1',
    '  local body = nil',
    ...(formBytes
      ? [
          `  tail = tail or string.rep(${JSON.stringify(randomBytes(16).toString('hex'))}, ${formBytes}):sub(1, ${formBytes - 32})`,
          `  body = "--${boundary}\\r\\n${disposition}\\r\\ncontent-type: application/octet-stream\\r\\n\\r\\n" ..`,
          `    string.format("${randomBytes(8).toString('hex')}%016d", turn) .. tail .. "\\r\\n--${boundary}--\\r\\n"`,
        ]
      : []),
    `  return wrk.format(${JSON.stringify(first.method)}, paths[(turn - 1) % #paths + 1], headers, body)`,
    'end',
    '',
  ].join('\n')
}

/** Parses the output of wrk. @throws Error if any answer was unsuccessful */
export function readWrk(text: string): Load {
  const failed = /^\s*(?:Non-2xx or 3xx responses|Socket errors): .*$/m.exec(text)?.[0]
  if (failed !== undefined) throw new Error(`wrk: ${failed.trim()}`)
  const [, done, time] = /^\s*(\d+) requests in ([\d.]+m?s?),/m.exec(text) ?? []
  const median = /^\s*50%\s+([\d.]+)(us|ms|s|m)$/m.exec(text)
  if (done === undefined || time === undefined || Number(done) === 0) throw new Error(`wrk said: ${text}`)
  const seconds = Number.parseFloat(time) * (time.endsWith('ms') ? 0.001 : time.endsWith('m') ? 60 : 1)
  const unit = { us: 0.001, ms: 1, s: 1_000, m: 60_000 }[median?.[2] ?? ''] ?? Number.NaN
  return { client: 'wrk', done: Number(done), seconds, medianMs: Number(median?.[1]) * unit }
}
