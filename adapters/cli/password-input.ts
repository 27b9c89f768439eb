import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Reads a line of standard input. On a terminal, prompts for the password and hides the input. */
export async function readPassword(): Promise<string> {
  const terminal = process.stdin.isTTY === true
  if (terminal) process.stderr.write('New password: ')
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (terminal) process.stderr.write('\n')
  }
}
