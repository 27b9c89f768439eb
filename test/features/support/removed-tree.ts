import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { removeFeature } from '../../../tools/remove-feature.ts'

const ROOT = join(import.meta.dirname, '../../..')
const COMPILER = join(ROOT, 'node_modules/.bin/tsc')
const TEST_RUNNER = join(ROOT, 'node_modules/vitest/vitest.mjs')
/** Parts of the tree that its programs and tests read. */
const PARTS = ['src', 'adapters', 'test', 'bench', 'tools', 'docs', '.github', 'README.md']
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts']
const LEFT_OUT = new Set(['node_modules', 'dist'])
/** Released tables stay, whatever is removed. */
const RELEASED = /^(src\/storage|adapters\/postgres\/schema)\/(schema[^/]*|migrations)\.ts$/

/** A copy of the sources without a feature. */
export class RemovedTree {
  readonly root: string
  /** Number of marks by file. */
  readonly marks: ReadonlyMap<string, number>
  /** The program of the tree. */
  readonly main: string

  private constructor(root: string, marks: ReadonlyMap<string, number>) {
    this.root = root
    this.marks = marks
    this.main = join(root, 'adapters/cli/main.ts')
  }

  /** Copies the sources, removes the feature, and writes the generated files anew. */
  static async of(feature: string, root: string): Promise<RemovedTree> {
    const options = { recursive: true, filter: (path: string) => !LEFT_OUT.has(basename(path)) }
    await Promise.all([...PARTS, ...SETTINGS].map(part => cp(join(ROOT, part), join(root, part), options)))
    await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'), 'junction')
    const tree = new RemovedTree(root, removeFeature(root, feature))
    const fault = await tree.fault('tools/docs.ts')
    if (fault !== '') throw new Error(fault)
    return tree
  }

  /** Runs a program of the tree. Resolves with its output if it fails, else with an empty text. */
  async fault(...args: readonly string[]): Promise<string> {
    const { code, output } = await this.run(process.execPath, args)
    return code === 0 ? '' : output || `ended with ${code}`
  }

  /** Returns what `tsc` finds. The second check of a project reads only what has changed. */
  async typeFaults(project: string): Promise<string> {
    const known = join(this.root, `${project.replaceAll('/', '-')}.tsbuildinfo`)
    const { output } = await this.run(COMPILER, ['-p', project, '--incremental', '--tsBuildInfoFile', known])
    return output
  }

  testFaults(...files: readonly string[]): Promise<string> {
    return this.fault(TEST_RUNNER, 'run', '--project', 'system', ...files)
  }

  /** Returns the lines of the sources with a word of the feature, except in released tables. */
  linesWith(words: RegExp): string[] {
    const paths = globSync('{src,adapters,tools,test/contract}/**/*.{ts,html,css}', { cwd: this.root })
    return paths.flatMap(path => {
      if (RELEASED.test(path.replaceAll('\\', '/'))) return []
      const lines = readFileSync(join(this.root, path), 'utf8').split('\n')
      return lines.flatMap((line, at) => (words.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : []))
    })
  }

  run(file: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(VITEST|HOLDFAST_(?!TEST_))/.test(name))
    const env = { ...Object.fromEntries(inherited), NO_COLOR: '1' }
    return new Promise(resolve => {
      const child = execFile(file, args, { cwd: this.root, env, maxBuffer: 2 ** 26 }, (_, stdout, stderr) => {
        resolve({ code: child.exitCode, output: `${stdout}${stderr}` })
      })
    })
  }
}
