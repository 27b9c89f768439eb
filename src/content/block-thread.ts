import { hash } from 'node:crypto'
import * as files from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { writeBlock } from './block-writing.ts'

/** Task for a worker thread, on the first `length` bytes of the shared memory. */
export type ThreadTask =
  | { id: number; kind: 'hash'; memory: SharedArrayBuffer; length: number }
  | { id: number; kind: 'write'; memory: SharedArrayBuffer; length: number; temp: string; path: string }

export type ThreadAnswer = { id: number; digest: Uint8Array | null } | { id: number; error: Error; code: unknown }

function run(task: ThreadTask): Uint8Array | null {
  const bytes = new Uint8Array(task.memory, 0, task.length)
  if (task.kind === 'hash') return new Uint8Array(hash('sha256', bytes, 'buffer'))
  writeBlock(files, task.temp, task.path, bytes)
  return null
}

parentPort?.on('message', (task: ThreadTask) => {
  let answer: ThreadAnswer
  try {
    answer = { id: task.id, digest: run(task) }
  } catch (error) {
    const cause = error instanceof Error ? error : new Error(String(error))
    answer = { id: task.id, error: cause, code: 'code' in cause ? cause.code : undefined }
  }
  parentPort?.postMessage(answer)
})
