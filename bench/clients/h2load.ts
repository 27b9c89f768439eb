import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Call } from '../services/service.ts'
import type { Load } from './load.ts'

/**
 * Makes each call exactly once. All connections of one h2load would request the same list, so each connection is a
 * process with its part of the calls.
 */
export async function eachWithH2load(program: string, calls: readonly Call[], connections: number): Promise<Load> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-h2load-'))
  try {
    const lists = partsOf(calls, connections)
    const files = await Promise.all(
      lists.map(async (list, index) => {
        const file = join(dir, `${index}`)
        await writeFile(file, list.map(({ url }) => `${url}\n`).join(''))
        return file
      }),
    )
    const started = performance.now()
    const done = await Promise.all(
      lists.map(async (list, index) => {
        const args = ['--h1', '-c', '1', '-n', `${list.length}`, '-i', files[index] ?? '', ...headersOf(list[0])]
        const { stdout } = await promisify(execFile)(program, args)
        return readH2load(stdout, list.length)
      }),
    )
    const seconds = (performance.now() - started) / 1_000
    return { client: 'h2load', done: done.reduce((sum, count) => sum + count, 0), seconds }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

export function partsOf<T>(items: readonly T[], parts: number): T[][] {
  const lists: T[][] = Array.from({ length: Math.min(parts, items.length) }, () => [])
  for (const [index, item] of items.entries()) lists[index % lists.length]?.push(item)
  return lists
}

function headersOf(call: Call | undefined): string[] {
  if (call === undefined) return []
  return Object.entries({ ':method': call.method, ...call.headers }).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ])
}

/** Returns the number of successful answers. @throws Error if any request failed */
export function readH2load(text: string, asked: number): number {
  const done = Number(/^status codes: (\d+) 2xx/m.exec(text)?.[1])
  if (done !== asked) throw new Error(`h2load asked ${asked} times: ${/^status codes.*$/m.exec(text)?.[0] ?? text}`)
  return done
}
