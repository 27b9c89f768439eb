import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Reads a line of standard input. On a terminal, prompts for it and hides the input. */
export async function readPassword(prompt = 'New password: '): Promise<string> {
  const terminal = process.stdin.isTTY === true
  if (terminal) process.stderr.write(prompt)
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
