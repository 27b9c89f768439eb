// Checks the package as users get it: builds and packs it, lints the tarball, installs it into an empty project and
// uses it.
// Installing needs a registry or a warm cache; without either it is skipped with a message. Takes about a minute;
// `--quick` stops before the installation.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
/** A cluster backend and a catalogue written against the package alone, which the tests use too. */
const BACKEND = 'test/clusters/memory-cluster.ts'
const CATALOGUE = [
  'test/catalogue/memory-catalogue.ts',
  'test/catalogue/memory-access.ts',
  'test/catalogue/memory-bulk.ts',
  'test/catalogue/memory-content.ts',
  'test/catalogue/memory-egress.ts',
  'test/catalogue/memory-placements.ts',
  'test/catalogue/memory-reconciliation.ts',
  'test/catalogue/memory-stops.ts',
  'test/catalogue/memory-undo.ts',
  'test/features/audit/memory-audit.ts', // feature: audit
  'test/features/webhooks/memory-webhooks.ts', // feature: webhooks
]
const CONSUMER = join(import.meta.dirname, 'package-consumer')
/** Codes in npm's error messages if no registry is reachable. */
const UNREACHABLE = /\bcode (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED)\b/
const NODE = process.execPath
const BIN = join(ROOT, 'node_modules')
const npm = process.env.npm_execpath

const { bin, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  bin: { holdfast: string }
  devDependencies: Record<string, string>
}
const directory = mkdtempSync(join(tmpdir(), 'holdfast-package-'))

function step(name: string, args: readonly string[], cwd: string, program = NODE): string {
  const started = performance.now()
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (error !== undefined || status !== 0) {
    throw new Error(`${name} failed: ${error?.message ?? ''}\n${stdout}${stderr}`)
  }
  console.log(`ok  ${name}, ${((performance.now() - started) / 1_000).toFixed(1)} s`)
  return stdout
}

function runNpm(name: string, args: readonly string[], cwd: string): string {
  if (npm === undefined) throw new Error('run this by npm: npm run check:package')
  return step(name, [npm, ...args, '--no-audit', '--no-fund', '--loglevel=error'], cwd)
}

function pack(): string {
  runNpm('build and pack', ['pack', '--pack-destination', directory], ROOT)
  const [tarball] = globSync('*.tgz', { cwd: directory })
  if (tarball === undefined) throw new Error('npm pack left no tarball')
  return join(directory, tarball)
}

function lint(tarball: string): void {
  step('publint', [join(BIN, 'publint/src/cli.js'), tarball, '--strict'], ROOT)
  step('attw', [join(BIN, '@arethetypeswrong/cli/dist/index.js'), '--profile', 'esm-only', tarball], ROOT)
}

function emptyProject(): string {
  const project = join(directory, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  for (const file of ['plain.js', 'common.cjs', 'typed.ts', 'typed-fastify.ts']) {
    copyFileSync(join(CONSUMER, file), join(project, file))
  }
  writeFileSync(join(project, 'typed-backend.ts'), asOthersWrite(BACKEND))
  for (const path of CATALOGUE) writeFileSync(join(project, basename(path)), asOthersWrite(path))
  return project
}

function asOthersWrite(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return text
    .replace(/'(?:\.\.\/)+src\/index\.ts'/, "'holdfast'")
    .replace(/'(?:\.\.\/)+src\/catalogue\/index\.ts'/, "'holdfast/catalogue'")
    .replace(/'(?:\.\.\/)+(?:catalogue|features\/[a-z]+)\/([a-z-]+\.ts)'/g, "'./$1'")
}

function install(project: string, packages: readonly string[]): void {
  runNpm(`install ${packages.map(name => name.replace(directory, '')).join(' ')}`, installArgs(packages), project)
}

function installArgs(packages: readonly string[]): string[] {
  return ['install', '--prefer-offline', '--ignore-scripts', ...packages]
}

function weigh(project: string): string {
  const files = globSync('node_modules/**', { cwd: project, withFileTypes: true }).filter(entry => entry.isFile())
  const bytes = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
  const packages = globSync('node_modules/{*,@*/*}/package.json', { cwd: project }).length
  return `${packages} packages at the top, ${Math.round(bytes / 1e6)} MB`
}

/**
 * Checks a file as Node and as bundlers find its packages. Omits skipLibCheck and the DOM, so that the package's own
 * declarations must be sound.
 */
function checkTypes(project: string, file: string): void {
  const options = ['--noEmit', '--strict', '--target', 'es2024', '--types', 'node']
  const lib = ['--lib', 'es2024,esnext.disposable', '--allowImportingTsExtensions']
  const compiler = [join(BIN, 'typescript/bin/tsc'), ...options, ...lib, file]
  step(`types of ${file}, nodenext`, [...compiler, '--module', 'nodenext'], project)
  step(`types of ${file}, bundler`, [...compiler, '--module', 'esnext', '--moduleResolution', 'bundler'], project)
}

/** Starts the bundled server twice, the second time on existing data, and prints the times. */
async function serve(project: string, commandLine: string): Promise<void> {
  for (const name of ['first', 'second']) {
    const started = performance.now()
    const server = spawn(NODE, [commandLine, 'serve', '--port', '0', '--data-dir', 'data'], { cwd: project })
    const errors: Buffer[] = []
    server.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
    const ended = once(server, 'exit')
    let text = ''
    for await (const chunk of server.stdout) {
      text += chunk
      if (/^import folder /m.test(text)) break
    }
    const ms = Math.round(performance.now() - started)
    server.kill('SIGTERM')
    const [code] = await ended
    if (code !== 0 || !/^gateway base /m.test(text)) throw new Error(`the server ended with ${code}: ${text}${errors}`)
    console.log(`ok  ${name} start of the server, listening after ${ms} ms`)
  }
}

/** Embeds the package in the other runtimes that are installed. */
function embedElsewhere(project: string): void {
  for (const [runtime, args] of [
    ['bun', []],
    ['deno', ['run', '-A']],
  ] as const) {
    if (spawnSync(runtime, ['--version']).error !== undefined) {
      console.log(`not run: the package under ${runtime}, which is not installed`)
      continue
    }
    step(`plain JavaScript under ${runtime}`, [...args, 'plain.js'], project, runtime)
  }
}

async function use(project: string): Promise<void> {
  step('plain JavaScript', ['plain.js'], project)
  step('CommonJS', ['common.cjs'], project)
  embedElsewhere(project)
  const commandLine = join('node_modules/holdfast', bin.holdfast)
  const help = step('command line', [commandLine, '--help'], project)
  if (!help.includes('serve')) throw new Error(`the help of the command line lacks "serve": ${help}`)
  await serve(project, commandLine)
  checkTypes(project, 'typed.ts')
  checkTypes(project, 'typed-backend.ts')
  checkTypes(project, 'memory-catalogue.ts')
}

try {
  const tarball = pack()
  console.log(`    ${Math.round(statSync(tarball).size / 1e3)} kB packed`)
  lint(tarball)
  if (!process.argv.includes('--quick')) {
    const project = emptyProject()
    install(project, [tarball])
    console.log(`    ${weigh(project)}`)
    install(project, [`@types/node@${devDependencies['@types/node']}`])
    await use(project)
    install(project, [`fastify@${devDependencies.fastify}`])
    checkTypes(project, 'typed-fastify.ts')
  }
} catch (error) {
  if (!(error instanceof Error && UNREACHABLE.test(error.message))) throw error
  console.log('not run: the package in an empty project: no registry is reachable')
} finally {
  rmSync(directory, { recursive: true, force: true })
}
