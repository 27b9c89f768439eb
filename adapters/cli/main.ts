#!/usr/bin/env -S node --max-semi-space-size=4
// The command line. Two checks precede all other imports: native modules crash an older Node, and the size of the
// thread pool is read at its first use. A small young generation is collected often and cheaply, together with the
// buffers of bodies. Otherwise their megabytes cause collections of the whole heap, which took half of the processor
// time of a large upload.
import { keepCompiled } from './compile-cache.ts'

const OLDEST_NODE = [22, 19] as const
/** Hashing, syncs and reads share these; libuv's own 4 let a slow disk hold up everything else. */
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
