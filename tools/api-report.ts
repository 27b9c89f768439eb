// Compares the declarations of the package's entries with the reports in docs/api, which record each change of the
// public surface.
// Refuses types in a signature that no entry exports, and exports without a description.
// `--update` writes the reports.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const REPORTS = join(ROOT, 'docs/api')
const BIN = join(ROOT, 'node_modules')

const { exports: entries } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string } | string>
}

function run(name: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  if (error !== undefined || status !== 0)
    throw new Error(`${name} failed: ${error?.message ?? ''}\n${stdout}${stderr}`)
  return stdout
}

function report(declarations: string, types: string, name: string): string {
  const directory = join(declarations, 'reports')
  mkdirSync(directory, { recursive: true })
  const quiet = { logLevel: 'none' }
  const config = {
    $schema: 'https://developer.microsoft.com/json-schemas/api-extractor/v7/api-extractor.schema.json',
    projectFolder: declarations,
    mainEntryPointFilePath: join(declarations, types.replace(/^\.\/dist\//, '')),
    newlineKind: 'lf',
    apiReport: {
      enabled: true,
      reportFolder: directory,
      reportTempFolder: directory,
      reportFileName: `${name}.api.md`,
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    compiler: { overrideTsconfig: compilerConfig() },
    messages: {
      compilerMessageReporting: { default: { logLevel: 'error' } },
      extractorMessageReporting: {
        default: quiet,
        'ae-forgotten-export': { logLevel: 'none', addToApiReportFile: true },
      },
      tsdocMessageReporting: { default: quiet },
    },
  }
  const file = join(declarations, `${name}.json`)
  writeFileSync(file, JSON.stringify(config))
  run(`the report of ${name}`, [join(BIN, '@microsoft/api-extractor/bin/api-extractor'), 'run', '--local', '-c', file])
  return join(directory, `${name}.api.md`)
}

function compilerConfig(): object {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: object
  }
  return { compilerOptions }
}

/** @throws Error that names the types of a signature that no entry exports */
function checkExported(path: string, exported: Set<string>): void {
  const text = readFileSync(path, 'utf8')
  for (const [, name = ''] of text.matchAll(/^export (?:declare |abstract )*\w+ (\w+)/gm)) exported.add(name)
  const missing = [...text.matchAll(/The symbol "(\w+)" needs to be exported/g)].flatMap(([, name = '']) => name)
  const unknown = missing.filter(name => !exported.has(name))
  if (unknown.length > 0) throw new Error(`${path} uses types that no entry exports: ${unknown.join(', ')}`)
}

function checkDescribed(path: string): void {
  const bare = [...readFileSync(path, 'utf8').matchAll(/\/\/ @public \(undocumented\)\n(export [^\n]+)/g)]
  if (bare.length === 0) return
  throw new Error(`not described in ${path}:\n${bare.map(([, line]) => `  ${line}`).join('\n')}`)
}

const directory = mkdtempSync(join(tmpdir(), 'holdfast-api-'))
try {
  run('tsc', [
    join(BIN, 'typescript/bin/tsc'),
    ...['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', directory],
  ])
  run('the declarations of the client', [join(import.meta.dirname, 'client-declarations.ts'), directory])
  copyFileSync(join(ROOT, 'package.json'), join(directory, 'package.json'))
  symlinkSync(BIN, join(directory, 'node_modules'), 'junction')
  const changed: string[] = []
  const exported = new Set<string>()
  for (const [entry, target] of Object.entries(entries)) {
    if (typeof target === 'string') continue
    const name = `holdfast${entry.slice(1).replace('/', '-')}`
    const path = report(directory, target.types, name)
    checkExported(path, exported)
    checkDescribed(path)
    const committed = join(REPORTS, `${name}.api.md`)
    // A type that another entry exports needs no warning.
    const text = readFileSync(path, 'utf8').replace(/^ *\/\/ .*\(ae-forgotten-export\).*\n/gm, '')
    if (process.argv.includes('--update')) {
      mkdirSync(REPORTS, { recursive: true })
      writeFileSync(committed, text)
    } else if (text !== readFileSync(committed, 'utf8')) {
      changed.push(committed)
    }
  }
  if (changed.length > 0) {
    throw new Error(
      `the public surface has changed. Run npm run check:api -- --update and review ${changed.join(' and ')}`,
    )
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
