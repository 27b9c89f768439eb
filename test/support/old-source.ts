import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

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

/** Returns numbered lines, which are the files in kept data directories. */
export function numberedLines(seed: string, length: number): Buffer {
  let text = ''
  for (let line = 0; text.length < length; line++) text += `${seed} ${line}\n`
  return Buffer.from(text.slice(0, length))
}
