import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A fenced block of a page: `sh`, `sh host`, `text`, or a language and the name of the file that the reader makes. */
export interface Block {
  language: string
  name: string
  text: string
}

/** A command block and the output that the page shows below it, if it shows any. */
interface Step {
  commands: string
  output: string | null
}

export function blocksOf(page: string): Block[] {
  const found = readFileSync(page, 'utf8').matchAll(/^```(\w+)(?: ([^\n]+))?\n([\s\S]*?)^```$/gm)
  return [...found].map(([, language = '', name = '', text = '']) => ({ language, name, text }))
}

/**
 * Returns the commands that a reader types, each with the output shown. Blocks `sh host` are for a server of its own.
 */
export function stepsOf(blocks: readonly Block[]): Step[] {
  return blocks.flatMap(({ language, name, text }, place) => {
    if (language !== 'sh' || name !== '') return []
    const next = blocks[place + 1]
    return [{ commands: text, output: next?.language === 'text' && next.name === '' ? next.text : null }]
  })
}

export function writeFiles(blocks: readonly Block[], directory: string): void {
  for (const { name, text } of blocks.filter(({ name }) => /^[\w./-]+\.\w+$/.test(name))) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
}

/** Runs all steps in one shell, which ends at the first that fails. Returns the output of each. */
export async function runSteps(steps: readonly Step[], cwd: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const end = '\u0001'
  const script = steps.map(({ commands }) => `${commands}\nprintf '${end}'\n`).join('')
  const { code, printed } = await new Promise<{ code: number | null; printed: string }>(resolve => {
    const options = { cwd, env, timeout: 220_000, maxBuffer: 10_000_000 }
    const shell = execFile('bash', ['-ec', `exec 2>&1\n${script}`], options, (_, stdout) =>
      resolve({ code: shell.exitCode, printed: stdout }),
    )
    shell.stdin?.end()
  })
  const outputs = printed.replaceAll('\r', '').split(end)
  if (code !== 0) throw new Error(`exit code ${code} of:\n${steps[outputs.length - 1]?.commands}\n${outputs.at(-1)}`)
  return outputs.slice(0, -1)
}

/** Returns a pattern of the shown output: `…` stands for any text. */
export function patternOf(output: string): RegExp {
  const parts = output.trim().split('…')
  return new RegExp(`^${parts.map(part => part.replace(/[^\w\s]/g, '\\$&')).join('[^]*?')}$`)
}
