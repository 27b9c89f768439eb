import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Call } from '../services/service.ts'
import type { Transfer } from './load.ts'

/** @throws Error for an unsuccessful answer */
export function sendWithCurl(program: string, call: Call, file: string, type: string): Promise<Transfer> {
  // `-T` streams the file. An empty `Expect` header prevents a wait for `100 Continue`.
  return transfer(program, call, ['-T', file, '-H', `content-type: ${type}`, '-H', 'expect:'], 'size_upload')
}

/** Reads and discards an answer. @throws Error for an unsuccessful answer */
export function readWithCurl(program: string, call: Call): Promise<Transfer> {
  return transfer(program, call, ['-o', '/dev/null'], 'size_download')
}

async function transfer(program: string, { method, url, headers }: Call, args: string[], size: string) {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const format = `\n%{http_code} %{time_total} %{${size}}`
  const all = ['-sS', '-g', '-X', method, ...given, ...args, '-w', format, url]
  const { stdout } = await promisify(execFile)(program, all, { maxBuffer: 2 ** 26 })
  return readCurl(stdout)
}

/** Parses curl's output, whose last line has the figures. @throws Error for an unsuccessful answer */
export function readCurl(text: string): Transfer {
  const end = text.lastIndexOf('\n')
  const [code = 0, seconds = Number.NaN, bytes = Number.NaN] = text
    .slice(end + 1)
    .split(' ')
    .map(Number)
  const body = text.slice(0, end)
  if (code < 200 || code >= 300) throw new Error(`curl was answered ${code}: ${body.slice(0, 300)}`)
  return { seconds, bytes, body }
}
