import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

const module = new URL('fixed-port.ts', import.meta.url)
/** Prints 45 pairs of ports. Ends with its input, since a range is free again when its process has ended. */
const SCRIPT = `
const { fixedPort } = await import(${JSON.stringify(module)})
const ports = await Promise.all(Array.from({ length: 45 }, () => fixedPort(1)))
console.log(JSON.stringify(ports))
process.stdin.resume()
`

test('gives out no port twice, in one process or in several', async () => {
  const children = [1, 2, 3].map(() => spawn(process.execPath, ['--input-type=module', '-e', SCRIPT]))
  const printed = await Promise.all(children.map(({ stdout }) => once(stdout, 'data')))
  for (const child of children) child.stdin.end()
  const pairs: number[] = printed.flatMap(([line]) => JSON.parse(String(line)))
  const ports = pairs.flatMap(port => [port, port + 1])
  expect(ports).toHaveLength(270)
  expect(new Set(ports).size).toBe(270)
})
