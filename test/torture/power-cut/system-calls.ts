import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** One system call in a trace of `strace`. A call that overlaps others appears as two entries. */
export interface SystemCall {
  /** Time of the line, in milliseconds since the epoch. */
  at: number
  thread: string
  name: string
  /** `both` if no other call overlapped it. */
  phase: 'began' | 'ended' | 'both'
  /** Text of the arguments; at the end of an overlapped call, the complete text. */
  args: string
  /** Return value; null at the beginning of an overlapped call. */
  result: number | null
}

/** System calls that change a disk. */
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

/** Returns the command that traces the program after it: calls that change a disk, with strings in hex, to a file. */
export function straceCommand(output: string): string[] {
  return ['strace', '-f', '-ttt', '-xx', '--seccomp-bpf', '-s', '16777216', '-e', `trace=${CHANGING}`, '-o', output]
}

const LINE = /^(\d+)\s+(\d+\.\d+) (.*)$/s

/** Reads a trace of `strace`, whose last line may be incomplete. */
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

/** Returns null for a line that is no complete call: a signal, an exit, or a truncated line. */
function wholeCall(text: string): Pick<SystemCall, 'name' | 'args' | 'result'> | null {
  const paren = text.indexOf('(')
  const end = text.lastIndexOf(') ')
  const result = /^\)\s+= (-?\d+)/.exec(text.slice(end, end + 40))
  if (paren === -1 || end < paren || result === null) return null
  return { name: text.slice(0, paren), args: text.slice(paren + 1, end), result: Number(result[1]) }
}

/** Returns the strings among the arguments, in order. */
export function stringsOf(args: string): Buffer[] {
  // With `-xx`, strace prints strings as hex escapes.
  return args
    .split('"')
    .filter((_, i) => i % 2 === 1)
    .map(hex => Buffer.from(hex.replaceAll('\\x', ''), 'hex'))
}
