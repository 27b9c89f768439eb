import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Source commits of old versions. */
export const OLD_SOURCES = {
  '0.1.0': '2b0e3a9d6cb649c442e7320c41858464afae3e35',
  '0.2.0': '58932637861bf1c2b1a88fa2ddbfc83d6e612f1d',
  '0.3.0': '6be08af4c84526eb52d1580d14f4d85de3fed543',
} as const

/** Returns whether the clone has the source of an old version. */
export function hasSource(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{tree}`], { cwd: ROOT, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Writes the source of an old version to a new directory, with the installed dependencies. */
export function unpackSource(commit: string, directory: string): void {
  mkdirSync(directory)
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['x', '-C', directory], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
}

/** Returns the commands of the guide that lead a data directory back to an old version. */
export function wayBack(version: keyof typeof OLD_SOURCES): string {
  const guide = readFileSync(join(ROOT, 'docs/guides/upgrade.md'), 'utf8')
  const [, commands = ''] = /```sh host\n([^`]*)```/.exec(guide.split('\n## Go back\n')[1] ?? '') ?? []
  const [, copy = ''] = new RegExp(`^\\| ${version} \\| .*\`(holdfast\\.db\\.schema-\\d+)\``, 'm').exec(guide) ?? []
  return commands.replace(/holdfast\.db\.schema-\d+/, copy)
}

/** Returns numbered lines, which are the files in kept data directories. */
export function numberedLines(seed: string, length: number): Buffer {
  let text = ''
  for (let line = 0; text.length < length; line++) text += `${seed} ${line}\n`
  return Buffer.from(text.slice(0, length))
}
