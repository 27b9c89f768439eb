import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../adapters/cli/commands.ts'
import { HELP } from '../../adapters/cli/help.ts'
import { type Block, blocksOf, patternOf, runSteps, stepsOf, writeFiles } from '../support/guide.ts'
import { linkPackage } from '../support/linked-package.ts'
import { ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const guides = globSync(['README.md', 'docs/{start,guides}/*.md'], { cwd: ROOT }).toSorted()
const COMMAND_LINE = 'docs/reference/command-line.md'
const pages = [...guides, COMMAND_LINE]
const LONGEST = 700

const shared = temporaryDirectory()
let source: Awaited<ReturnType<typeof startSource>>

beforeAll(async () => {
  source = await startSource()
})
afterAll(async () => {
  await ServerProcess.killAll()
  shared.remove()
})

/** Creates the programs that a page expects on `PATH`: `holdfast`, and copies of the files next to this test. */
function installCommands(directory: string, page: string): string {
  const bin = join(directory, 'bin')
  mkdirSync(bin)
  const main = join(ROOT, 'adapters/cli/main.ts')
  writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  const prefix = `${basename(page, '.md')}.`
  for (const file of globSync(`${prefix}*`, { cwd: import.meta.dirname })) {
    copyFileSync(join(import.meta.dirname, file), join(bin, file.slice(prefix.length)))
  }
  for (const file of globSync(join(bin, '*'))) chmodSync(file, 0o755)
  return bin
}

/** Starts a server with one pin, from which pages about migration copy content. */
async function startSource(): Promise<{ url: string; key: string; cid: string }> {
  const server = await ServerProcess.start(join(shared.path, 'source'), [], {}, 600_000)
  const key = keyOf(server)
  const form = new FormData()
  form.append('file', new Blob(['a greeting']), 'greeting')
  const made = await fetch(`${server.api}/files`, { method: 'POST', headers: { 'x-api-key': key }, body: form })
  return { url: server.url, key, cid: ((await made.json()) as { cid: string }).cid }
}

function keyOf(server: ServerProcess): string {
  return /^API key of the owner, .*: (\S+)$/m.exec(server.stdout)?.[1] ?? ''
}

/** Runs a page as a reader would. Returns the output of each step, with the page's addresses. */
async function follow(blocks: readonly Block[], page: string): Promise<{ printed: string[]; started: string }> {
  const temporary = temporaryDirectory()
  const cwd = join(temporary.path, 'work')
  mkdirSync(join(cwd, 'backups'), { recursive: true })
  const bin = installCommands(temporary.path, page)
  await linkPackage(cwd)
  writeFiles(blocks, cwd)
  const config = existsSync(join(cwd, 'holdfast.json')) ? ['--config', join(cwd, 'holdfast.json')] : []
  const server = await ServerProcess.start(join(cwd, 'data'), config, {}, 230_000)
  try {
    const content = /(\S+:\d+)\/ipfs\/bafk/.exec(server.stdout)?.[1] ?? ''
    const places: Array<[shown: string, real: string]> = [
      ['http://127.0.0.1:4100', server.url],
      ['http://127.0.0.1:4101', `http://127.0.0.1:${new URL(content).port}`],
      ['localhost:4101', `localhost:${new URL(content).port}`],
      ['https://gateway.pinata.cloud', source.url],
      ['https://api.filebase.io/v1/ipfs', `${source.url}/psa`],
      ['TOKEN=…', `TOKEN=${source.key}`],
      ['hf_…', keyOf(server)],
    ]
    const steps = stepsOf(blocks).map(({ commands, output }) => ({
      commands: places.reduce((text, [shown, real]) => text.replaceAll(shown, real), commands),
      output,
    }))
    const PATH = `${bin}:${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
    const XDG_CONFIG_HOME = join(temporary.path, 'settings')
    const own = { HOLDFAST_API: server.api, HOLDFAST_API_KEY: keyOf(server), XDG_CONFIG_HOME }
    const env = { ...process.env, ...own, PATH, SOURCE: source.url, SOURCE_CID: source.cid }
    const shown = (text: string): string => places.reduce((said, [name, real]) => said.replaceAll(real, name), text)
    return { printed: (await runSteps(steps, cwd, env)).map(text => shown(text).trim()), started: shown(server.stdout) }
  } finally {
    await server.stop()
    temporary.remove()
  }
}

describe('pages with commands', () => {
  test.each(pages)('%s runs as it is written', { timeout: 240_000 }, async page => {
    const blocks = blocksOf(join(ROOT, page))
    const steps = stepsOf(blocks)
    if (steps.length === 0) return
    const { printed, started } = await follow(blocks, page)
    steps.forEach(({ output }, place) => {
      if (output !== null) expect(printed[place]).toMatch(patternOf(output))
    })
    for (const { text } of blocks.filter(({ name }) => name === 'server')) {
      expect(started).toMatch(patternOf(`${text.trim()}…`))
    }
  })

  test.each(pages)('%s names commands and flags that exist', page => {
    const shells = blocksOf(join(ROOT, page)).filter(({ language }) => language === 'sh')
    for (const { text } of shells) execFileSync('bash', ['-nc', text])
    const lines = shells.flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
    for (const line of lines) {
      for (const [, rest = ''] of line.matchAll(/(?:^|[;&|(] ?|do |-- )holdfast ([^|;&)#]*)/g))
        expect(unknownIn(rest)).toBeNull()
    }
  })

  test.each(guides)('%s is short, and a guide ends with a visible result', page => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    expect(text.split(/\s+/).length).toBeLessThan(LONGEST)
    if (page.includes('guides')) expect(text).toMatch(/^## You see$/m)
  })

  test('the command line reference shows each command with its output', () => {
    const blocks = blocksOf(join(ROOT, COMMAND_LINE))
    const shown = blocks.filter(({ language }, place) => language === 'sh' && blocks[place + 1]?.language === 'text')
    const lines = shown.flatMap(({ text }) => text.split('\n'))
    const missing = [...COMMANDS.keys()].filter(
      name => !lines.some(line => new RegExp(`(^|\\| )holdfast ${name}( |$)`).test(line)),
    )
    expect(missing).toEqual([])
  })

  test('the check finds unknown commands and flags', () => {
    expect(unknownIn('nothing --data-dir x')).toContain('nothing')
    expect(unknownIn('upload site --nothing')).toContain('--nothing')
    expect(unknownIn('backup check DIR --repair')).toBeNull()
  })

  test('an output with another word does not match', () => {
    expect('abc 1\nde').toMatch(patternOf('abc …\nde\n'))
    expect('abc 1\ndf').not.toMatch(patternOf('abc …\nde\n'))
  })
})

/** Returns an error for a command or flag that no help text has, or null. */
function unknownIn(command: string): string | null {
  const words = command.trim().split(/\s+/)
  if (words[0] === '--version') return null
  const help: Record<string, string> = HELP
  const named = [words.slice(0, 2).join(' '), words[0] ?? ''].find(name => name in help)
  if (named === undefined) return `no command ${words[0]}`
  const flag = words
    .filter(word => word.startsWith('--'))
    .find(word => !help[named]?.includes(word.split('=')[0] ?? ''))
  return flag === undefined ? null : `${named} has no ${flag}`
}
