// Makes the files of a release: `npm run release -- DIRECTORY`. The directory must not exist, or be empty.
// It gets the package, the notes of the version and the checksums. A list has all packages of an installation (an SBOM
// in the format CycloneDX). Installing needs a registry or a warm cache.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { notesOf } from './release-notes.ts'

const ROOT = join(import.meta.dirname, '..')
const SUMS = 'SHA256SUMS'
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>
const { name, version } = manifest as { name: string; version: string }

function npm(args: readonly string[], cwd: string): string {
  const script = process.env.npm_execpath
  if (script === undefined) throw new Error('run this by npm: npm run release -- DIRECTORY')
  const options = { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args, '--loglevel=error'], options)
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/**
 * Installs the packages of the lockfile without development packages, and lists what npm has installed. So the list also
 * has the packages that the build puts into the library.
 */
function billOfMaterials(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-release-'))
  try {
    const { devDependencies: _, scripts: __, ...metadata } = manifest
    writeFileSync(join(directory, 'package.json'), JSON.stringify(metadata))
    for (const path of ['package-lock.json', 'tools/node-runtime/package.json', 'tools/react-native-stub']) {
      cpSync(join(ROOT, path), join(directory, path), { recursive: true })
    }
    npm(['install', '--ignore-scripts', '--no-audit', '--no-fund'], directory)
    return npm(['sbom', '--sbom-format=cyclonedx'], directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
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
const notes = notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
npm(['pack', '--pack-destination', directory], ROOT)
writeFileSync(join(directory, `${name}-${version}.cdx.json`), billOfMaterials())
writeFileSync(join(directory, `${name}-${version}.md`), notes)
writeFileSync(join(directory, SUMS), sumsOf(directory))
console.log(readFileSync(join(directory, SUMS), 'utf8'))
