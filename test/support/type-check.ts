import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache')
/** JSX types for blocks of React, which is not a dependency. */
const JSX = 'declare namespace JSX { interface IntrinsicElements { [name: string]: object } interface Element {} }\n'

/** How a program finds its packages: as Node does, or as bundlers do. */
export const RESOLUTIONS = ['nodenext', 'bundler'] as const

export interface SourceFile {
  name: string
  text: string
}

/** Type-checks files with the project's strict settings. Returns the compiler's output. */
export function typeProblems(files: readonly SourceFile[], moduleResolution: (typeof RESOLUTIONS)[number]): string {
  mkdirSync(CACHE, { recursive: true })
  const directory = mkdtempSync(join(CACHE, 'types-'))
  try {
    const entries = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
      typeof target === 'string' ? [] : [[`holdfast${entry.slice(1)}`, [sourceOf(target.default)]]],
    )
    const compilerOptions = {
      noEmit: true,
      allowJs: true,
      strict: true,
      jsx: 'preserve',
      moduleResolution,
      module: moduleResolution === 'bundler' ? 'esnext' : 'nodenext',
      paths: Object.fromEntries(entries),
    }
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['**/*'], exclude: [] }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
    writeFileSync(join(directory, 'jsx.d.ts'), JSX)
    for (const { name, text } of files) {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), `${text}\nexport {}\n`)
    }
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', directory], {
      encoding: 'utf8',
    })
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
