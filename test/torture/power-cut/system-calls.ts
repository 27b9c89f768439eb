import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** One call as `strace` saw it, in the order of its file. A call that others overlap comes as two. */
export interface SystemCall {
  /** When the line was written, in milliseconds since the epoch. */
  at: number
  thread: string
  name: string
  /** `both` for a call that nothing overlapped. */
  phase: 'began' | 'ended' | 'both'
  /** What is between the parentheses; of a call in two phases, of both together once it has ended. */
  args: string
  /** What it returned; null for a call that has only begun. */
  result: number | null
}

/** The calls by which a process changes what is on a disk. */
const CHANGING = [
  ...['open', 'openat', 'creat', 'close', 'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'copy_file_range'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'ftruncate', 'truncate', 'fallocate', 'sendfile'],
  ...[
    'rename',
    'renameat',
    'renameat2',
    'unlink',
    'unlinkat',
    'mkdir',
    'mkdirat',
    'rmdir',
    'link',
    'linkat',
    'symlink',
  ],
]

/** Runs what follows it and writes the calls that change a disk to a file, strings in hex. */
export function straceCommand(output: string): string[] {
  return ['strace', '-f', '-ttt', '-xx', '--seccomp-bpf', '-s', '16777216', '-e', `trace=${CHANGING}`, '-o', output]
}

const LINE = /^(\d+)\s+(\d+\.\d+) (.*)$/s

/** Reads a file of `strace`; its last line may be cut off. */
export async function* readCalls(file: string): AsyncGenerator<SystemCall> {
  const open = new Map<string, string>()
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [, thread = '', seconds = '', text = ''] = LINE.exec(line) ?? []
    const at = Number(seconds) * 1_000
    const resumed = text.startsWith('<... ')
    if (resumed) {
      const begun = open.get(thread)
      open.delete(thread)
      const call = begun === undefined ? null : wholeCall(begun + text.slice(text.indexOf('>') + 1))
      if (call !== null) yield { at, thread, phase: 'ended', ...call }
    } else if (text.endsWith('<unfinished ...>')) {
      const begun = text.slice(0, -'<unfinished ...>'.length)
      open.set(thread, begun)
      const paren = begun.indexOf('(')
      yield { at, thread, phase: 'began', name: begun.slice(0, paren), args: begun.slice(paren + 1), result: null }
    } else {
      const call = wholeCall(text)
      if (call !== null) yield { at, thread, phase: 'both', ...call }
    }
  }
}

/** Null for what is no whole call: a signal, an exit, a line that was cut off. */
function wholeCall(text: string): Pick<SystemCall, 'name' | 'args' | 'result'> | null {
  const paren = text.indexOf('(')
  const end = text.lastIndexOf(') ')
  const result = /^\)\s+= (-?\d+)/.exec(text.slice(end, end + 40))
  if (paren === -1 || end < paren || result === null) return null
  return { name: text.slice(0, paren), args: text.slice(paren + 1, end), result: Number(result[1]) }
}

/** The strings among the arguments, in order. */
export function stringsOf(args: string): Buffer[] {
  // Within the quotes everything is hex.
  return args
    .split('"')
    .filter((_, i) => i % 2 === 1)
    .map(hex => Buffer.from(hex.replaceAll('\\x', ''), 'hex'))
}
