// Makes the files of a release: `npm run release -- DIRECTORY`. The directory must not exist, or be empty.
// It gets the package, the notes of the version, a list of all packages (an SBOM in the format CycloneDX) and the
// checksums.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Bill, billOfRelease, packagesOf } from './bill-of-materials.ts'
import { type Metadata, published } from './bundled-packages.ts'
import { notesOf } from './release-notes.ts'

const ROOT = join(import.meta.dirname, '..')
const SUMS = 'SHA256SUMS'
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Metadata & {
  name: string
  version: string
}
const { name, version } = manifest

function npm(args: readonly string[], cwd: string): string {
  const script = process.env.npm_execpath
  if (script === undefined) throw new Error('run this by npm: npm run release -- DIRECTORY')
  const options = { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args, '--loglevel=error'], options)
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/**
 * Lists the packages of an installation, in the versions of the lockfile, and the packages that the build put into the
 * packed files.
 */
function billOfMaterials(): Bill {
  const all = npm(['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], ROOT)
  const licences = globSync('dist/**/LICENSES.txt', { cwd: ROOT }).map(file => readFileSync(join(ROOT, file), 'utf8'))
  return billOfRelease(JSON.parse(all) as Bill, published(manifest), licences.flatMap(packagesOf))
}

function sumsOf(directory: string): string {
  const files = readdirSync(directory).toSorted()
  const digestOf = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(join(directory, file)))
      .digest('hex')
  return files.map(file => `${digestOf(file)}  ${file}\n`).join('')
}

const [given] = process.argv.slice(2)
if (given === undefined) throw new Error('npm run release -- DIRECTORY')
const directory = resolve(given)
mkdirSync(directory, { recursive: true })
if (readdirSync(directory).length > 0) throw new Error(`${directory} is not empty`)
const { GITHUB_SERVER_URL: host, GITHUB_REPOSITORY: repository } = process.env
const base = repository === undefined ? '' : `${host}/${repository}/blob/v${version}/`
const notes = notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version, base)
npm(['pack', '--pack-destination', directory], ROOT)
writeFileSync(join(directory, `${name}-${version}.cdx.json`), JSON.stringify(billOfMaterials(), null, 2))
writeFileSync(join(directory, `${name}-${version}.md`), notes)
writeFileSync(join(directory, SUMS), sumsOf(directory))
console.log(readFileSync(join(directory, SUMS), 'utf8'))
