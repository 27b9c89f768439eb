// Gives the packed package the metadata of the published one: `npm pack` runs this before packing, and with `--undo`
// after it. A registry takes the metadata from the tarball only if the tarball is what is published.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { published } from './bundled-packages.ts'

const ROOT = join(import.meta.dirname, '..')
const FILE = join(ROOT, 'package.json')
const KEPT = join(ROOT, 'node_modules/.cache/package.json')

// An interrupted run leaves the original in the cache.
if (existsSync(KEPT)) renameSync(KEPT, FILE)
if (!process.argv.includes('--undo')) {
  const text = readFileSync(FILE, 'utf8')
  mkdirSync(dirname(KEPT), { recursive: true })
  writeFileSync(KEPT, text)
  writeFileSync(FILE, `${JSON.stringify(published(JSON.parse(text)), null, 2)}\n`)
}
