#!/usr/bin/env -S node --max-semi-space-size=4
// An old Node must be refused before the other modules load, because native modules crash it. The size of the thread
// pool must be set before Node first uses the pool.
//
// The flag in the first line is for Windows, where `restartWithSettings` cannot replace the process.
import { keepCompiled, temporaryFilesOf } from './compile-cache.ts'
import { restartWithSettings } from './process-settings.ts'

const OLDEST_NODE = [22, 19] as const
/** Threads for hashing, syncs and reads. With libuv's default of 4, a slow disk blocks all other work. */
const THREAD_POOL_SIZE = 8

const otherRuntime = process.versions.bun !== undefined ? 'Bun' : process.versions.deno !== undefined ? 'Deno' : null
if (otherRuntime !== null) {
  console.error(`holdfast: this command needs Node.js ${OLDEST_NODE.join('.')} or newer, this is ${otherRuntime}`)
  process.exit(1)
}
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`holdfast: Node.js ${OLDEST_NODE.join('.')} or newer is needed, this is ${process.versions.node}`)
  process.exit(1)
}

restartWithSettings(process)
process.env.UV_THREADPOOL_SIZE ||= String(THREAD_POOL_SIZE)
const cache = keepCompiled(process.argv.slice(2), process.env)
// Threads read this variable. Without the cache, each thread that runs from sources loads the compiler of TypeScript,
// about 14 MiB.
if (cache !== undefined) process.env.NODE_COMPILE_CACHE ||= cache
process.env.SQLITE_TMPDIR ||= temporaryFilesOf(process.argv.slice(2), process.env)

const { runCommandLine } = await import('./command-line.ts')
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
