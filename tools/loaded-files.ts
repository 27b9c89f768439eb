// Counts the files that a program loads to embed an engine, with one upload and one simulated hour.
// The flag `--dist` counts those of the built package, without other packages in it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { TestClock } from '../src/testing/test-clock.ts'

const HOUR_MS = 3_600_000
const STEP_MS = 10_000

const { values } = parseArgs({ options: { dist: { type: 'boolean' }, files: { type: 'boolean' } } })
const root = join(import.meta.dirname, '..')
const entry = join(root, values.dist === true ? 'dist/src/index.js' : 'src/index.ts')
const loaded = new Set<string>()

registerHooks({
  load: (url, context, next) => {
    const path = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
    if (/^(dist\/)?(src|adapters)\/(?!packages\/)/.test(path)) loaded.add(path)
    return next(url, context)
  },
})

const { createEngine } = (await import(pathToFileURL(entry).href)) as typeof import('../src/index.ts')
const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-loaded-'))
const clock = new TestClock()
const engine = await createEngine({ dataDir, clock, network: { enabled: false }, singleUser: true })
await engine.pins.upload(Buffer.from('hello'), { name: 'hello.txt' })
for (let ms = 0; ms < HOUR_MS; ms += STEP_MS) {
  clock.advance(STEP_MS)
  await new Promise(resolve => setImmediate(resolve))
}
await engine.stop()
rmSync(dataDir, { recursive: true })

const rooms = new Map<string, { files: number; lines: number; code: number }>()
for (const path of loaded) {
  const lines = readFileSync(join(root, path), 'utf8').split('\n').slice(0, -1)
  const name = path
    .replace(/^dist\//, '')
    .split('/')
    .slice(0, 2)
    .join('/')
  const room = rooms.get(name) ?? { files: 0, lines: 0, code: 0 }
  rooms.set(name, {
    files: room.files + 1,
    lines: room.lines + lines.length,
    code: room.code + lines.filter(line => !/^\s*($|\/\/|\/?\*)/.test(line)).length,
  })
}
if (values.files === true) for (const path of [...loaded].sort()) console.log(path)
else console.table(Object.fromEntries([...rooms].sort(([, a], [, b]) => b.lines - a.lines)))
const sum = (of: 'files' | 'lines' | 'code'): number => [...rooms.values()].reduce((total, room) => total + room[of], 0)
console.log(`${sum('files')} files, ${sum('lines')} lines, ${sum('code')} of code`)
