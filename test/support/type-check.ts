import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache')
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')
/** JSX types for blocks of React, which is not a dependency. */
const JSX = 'declare namespace JSX { interface IntrinsicElements { [name: string]: object } interface Element {} }\n'

/** Next.js with an older compiler and newer types of Node, which `npm ci --prefix tools/next` installs. */
export const NEXT = join(ROOT, 'tools/next')
export const hasNext = existsSync(join(NEXT, 'node_modules/next'))

/** Settings of a program that uses the package. */
export interface TypeSettings {
  /** The compiler's program. Default: the project's. */
  compiler?: string
  /** Fields of `tsconfig.json` besides the strict ones. */
  options: Readonly<Record<string, unknown>>
  /** The program sees the declarations of the package, and not its sources. */
  isBuilt?: true
}

/** Settings that `next build` gives a program. */
const OF_NEXT = {
  target: 'es2017',
  lib: ['dom', 'dom.iterable', 'esnext'],
  module: 'esnext',
  moduleResolution: 'bundler',
  esModuleInterop: true,
  resolveJsonModule: true,
  isolatedModules: true,
  skipLibCheck: true,
  types: ['node'],
} as const
/** Settings of the project, without those that a program does not need. */
const OF_PROJECT = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  types: ['node'],
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  rewriteRelativeImportExtensions: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
} as const

/** Settings by their name. */
export const SETTINGS: Readonly<Record<string, TypeSettings>> = {
  nodenext: { options: { ...OF_PROJECT, module: 'nodenext', moduleResolution: 'nodenext' } },
  bundler: { options: { ...OF_PROJECT, module: 'esnext', moduleResolution: 'bundler' } },
  'Next.js': { isBuilt: true, options: OF_NEXT },
  'Next.js, TypeScript 5.9 and newer types of Node': {
    isBuilt: true,
    compiler: join(NEXT, 'node_modules/typescript/bin/tsc'),
    options: { ...OF_NEXT, typeRoots: [join(NEXT, 'node_modules/@types')] },
  },
}

export interface SourceFile {
  name: string
  text: string
}

/** Builds the package without bundles into a directory, for programs that install it. */
export function buildInto(directory: string): void {
  execFileSync(process.execPath, [COMPILER, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', directory])
  execFileSync(process.execPath, [join(ROOT, 'tools/client-declarations.ts'), directory])
}

/** Type-checks files. Returns the compiler's output. */
export function typeProblems(
  files: readonly SourceFile[],
  { options, compiler = COMPILER, isBuilt }: TypeSettings,
): string {
  mkdirSync(CACHE, { recursive: true })
  const directory = mkdtempSync(join(CACHE, 'types-'))
  try {
    const built = join(directory, 'node_modules/dist')
    if (isBuilt) buildInto(built)
    const entries = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
      typeof target === 'string'
        ? []
        : [[`holdfast${entry.slice(1)}`, [isBuilt ? join(built, '..', target.types) : sourceOf(target.default)]]],
    )
    const always = { noEmit: true, allowJs: true, strict: true, jsx: 'preserve' }
    const compilerOptions = { ...always, ...options, paths: Object.fromEntries(entries) }
    const config = { compilerOptions, include: ['**/*'], exclude: ['node_modules'] }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
    writeFileSync(join(directory, 'jsx.d.ts'), JSX)
    for (const { name, text } of files) {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), `${text}\nexport {}\n`)
    }
    execFileSync(process.execPath, [compiler, '-p', directory], { encoding: 'utf8' })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function sourceOf(built: string): string {
  return join(ROOT, built.replace('./dist/', '').replace(/\.js$/, '.ts'))
}
