import { accessSync, constants } from 'node:fs'

/**
 * Environment variables that the C library reads only when a process starts. Without these, malloc keeps more freed
 * memory. Large blocks have pages of their own, so this costs no time. Other C libraries ignore the variables.
 */
const VARIABLES = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  MALLOC_MMAP_THRESHOLD_: '1048576',
}

/**
 * Keeps the young generation of the heap small, so that buffers of request bodies are collected often and cheaply.
 * Without the flag, whole-heap collections took half of the processor time of a large upload.
 */
const FLAG = '--max-semi-space-size'
const FLAG_VALUE = 4

/** The parts of the process that a restart needs. */
export interface StartedProcess {
  env: Readonly<Record<string, string | undefined>>
  execArgv: readonly string[]
  /** As in `process.argv`. */
  argv: readonly string[]
  execPath: string
  /** Missing on Windows. */
  execve?: ((file: string, args: string[], env: Record<string, string>) => void) | undefined
}

/**
 * Replaces the process of `serve` by the same command with the settings that Node.js and the C library read only at
 * their start. So a server has the same memory, whether the image, the package or the sources start it. Settings of the
 * user win. Returns if nothing is missing, and where a process cannot be replaced.
 */
export function restartWithSettings({ env, execArgv, argv, execPath, execve }: StartedProcess): void {
  const [, script = '', command] = argv
  if (command !== 'serve' || execve === undefined || env.NODE_CHANNEL_FD !== undefined) return
  const missing = Object.entries(VARIABLES).filter(([name]) => env[name] === undefined)
  const hasFlag = [...execArgv, env.NODE_OPTIONS ?? ''].some(text => text.includes(FLAG))
  if ((missing.length === 0 && hasFlag) || !isRunnable(execPath)) return
  const flags = hasFlag ? execArgv : [...execArgv, `${FLAG}=${FLAG_VALUE}`]
  const given = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  execve(execPath, [execPath, ...flags, script, ...argv.slice(2)], Object.fromEntries([...given, ...missing]))
}

/**
 * Returns whether the program can be run. Otherwise Node.js would end the process when it replaces itself, for example
 * after an upgrade has deleted the program.
 */
function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
