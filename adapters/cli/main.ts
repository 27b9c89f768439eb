#!/usr/bin/env -S node --max-semi-space-size=4
// Entry point of the command line.
//
// Two things happen before the other modules load. An older Node must be refused, because native modules crash it. The
// size of the thread pool must be set, because Node reads the size at the pool's first use.
//
// The option in the first line keeps the young generation of the heap small. The buffers of request bodies are then
// collected often and cheaply. Without the option, these buffers cause collections of the whole heap, which took half
// of the processor time of a large upload.
import { keepCompiled } from './compile-cache.ts'

const OLDEST_NODE = [22, 19] as const
/** Number of threads for hashing, syncs and reads. With libuv's default of 4, a slow disk blocks all other work. */
const THREAD_POOL_SIZE = 8

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`holdfast: Node.js ${OLDEST_NODE.join('.')} or newer is needed, this is ${process.versions.node}`)
  process.exit(1)
}

process.env.UV_THREADPOOL_SIZE ||= String(THREAD_POOL_SIZE)
keepCompiled(process.argv.slice(2), process.env)

const { runCommandLine } = await import('./command-line.ts')
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
