import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isCommand } from '../../adapters/cli/all-commands.ts'
import { COMMANDS } from '../../adapters/cli/commands.ts'
import { helpOf } from '../../adapters/cli/help.ts'
import { Draws } from '../support/draws.ts'
import { type Block, blocksOf, patternOf, runSteps, stepsOf, writeFiles } from '../support/guide.ts'
import { linkPackage } from '../support/linked-package.ts'
import { MAIN, ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const guides = globSync(['README.md', 'docs/{start,guides}/*.md'], { cwd: ROOT }).toSorted()
const COMMAND_LINE = 'docs/reference/command-line.md'
const pages = [...guides, COMMAND_LINE]
/**
 * Pages that need a server of their own: two change the server's addresses, two show exact figures, and npm removes the
 * linked package in one.
 */
const apart = [
  'docs/guides/be-found.md',
  'docs/guides/behind-tls.md',
  'docs/guides/disk-full.md',
  'docs/guides/sign-in-with-openid-connect.md',
  COMMAND_LINE,
]
const together = guides.filter(page => !apart.includes(page))
const SCRIPT_RUN = /^sh \w+\.sh/m
const scripted = together.filter(page =>
  stepsOf(blocksOf(join(ROOT, page))).some(step => SCRIPT_RUN.test(step.commands)),
)
const MOST_CALLS = 10
/** Commands of the scripts. */
const BREAKABLE = ['curl', 'find', 'holdfast', 'ipfs', 'jq', 'mktemp', 'sed']
const LONGEST = 700
/** Orders of the guides. `HOLDFAST_TEST_SEED` names the first, so it repeats one. */
const SEED = Number(process.env.HOLDFAST_TEST_SEED ?? Math.floor(Math.random() * 1e9))
const SEEDS = [SEED, SEED + 1, SEED + 2]

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
  writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
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

/** A server, and the directory in which its reader works. */
interface Place {
  cwd: string
  server: ServerProcess
  remove(): Promise<void>
}

/** Starts a server with the configuration of all pages, whose fields differ. */
async function startPlace(pages: readonly string[]): Promise<Place> {
  const temporary = temporaryDirectory()
  const cwd = join(temporary.path, 'work')
  mkdirSync(join(cwd, 'backups'), { recursive: true })
  await linkPackage(cwd)
  const files = pages.flatMap(page => blocksOf(join(ROOT, page)).filter(({ name }) => name === 'holdfast.json'))
  const config = join(cwd, 'holdfast.json')
  writeFileSync(config, JSON.stringify(Object.assign({}, ...files.map(({ text }) => JSON.parse(text)))))
  const server = await ServerProcess.start(join(cwd, 'data'), ['--config', config], {}, 900_000)
  const remove = async (): Promise<void> => {
    await server.stop()
    temporary.remove()
  }
  return { cwd, server, remove }
}

interface Followed {
  printed: string[]
  /** Output of the server at its start. */
  started: string
  /** Calls of the broken command by the page's script. */
  calls: number
}

/** Runs a page as a reader would, or up to its script if a command is broken. Returns the output of each step, with the page's addresses. */
async function follow(
  blocks: readonly Block[],
  page: string,
  { cwd, server }: Place,
  broken?: Broken,
): Promise<Followed> {
  const temporary = temporaryDirectory()
  try {
    const bin = installCommands(temporary.path, page)
    if (broken !== undefined) breakCommand(bin, broken)
    writeFiles(
      blocks.filter(({ name }) => name !== 'holdfast.json'),
      cwd,
    )
    const content = /(\S+:\d+)\/ipfs\/bafk/.exec(server.stdout)?.[1] ?? ''
    const addresses: Array<[shown: string, real: string]> = [
      ['http://127.0.0.1:4100', server.url],
      ['http://127.0.0.1:4101', `http://127.0.0.1:${new URL(content).port}`],
      ['localhost:4101', `localhost:${new URL(content).port}`],
      ['https://gateway.pinata.cloud', source.url],
      ['https://api.filebase.io/v1/ipfs', `${source.url}/psa`],
      ['TOKEN=…', `TOKEN=${source.key}`],
      ['hf_…', keyOf(server)],
    ]
    const real = (text: string): string => addresses.reduce((said, [shown, name]) => said.replaceAll(shown, name), text)
    const shown = (text: string): string => addresses.reduce((said, [name, real]) => said.replaceAll(real, name), text)
    for (const { name, text } of blocks.filter(({ name }) => name.endsWith('.sh'))) {
      writeFileSync(join(cwd, name), real(text))
    }
    const all = stepsOf(blocks).map(({ commands, output }) => ({ commands: real(commands), output }))
    const steps =
      broken === undefined ? all : all.slice(0, all.findIndex(({ commands }) => SCRIPT_RUN.test(commands)) + 1)
    const PATH = `${bin}:${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
    const XDG_CONFIG_HOME = join(temporary.path, 'settings')
    const own = { HOLDFAST_API: server.api, HOLDFAST_API_KEY: keyOf(server), XDG_CONFIG_HOME }
    const env = { ...process.env, ...own, PATH, SOURCE: source.url, SOURCE_CID: source.cid }
    const printed = await runSteps(
      steps.map(({ commands, output }) => ({ commands: commands.replace(SCRIPT_RUN, 'BREAK=yes $&'), output })),
      cwd,
      env,
    )
    const calls = broken === undefined ? 0 : readFileSync(join(bin, `${broken.command}.calls`), 'utf8').length
    return { printed: printed.map(text => shown(text).trim()), started: shown(server.stdout), calls }
  } finally {
    temporary.remove()
  }
}

async function expectShown(page: string, place: Place): Promise<void> {
  const blocks = blocksOf(join(ROOT, page))
  const steps = stepsOf(blocks)
  if (steps.length === 0) return
  const { printed, started } = await follow(blocks, page, place)
  steps.forEach(({ output }, step) => {
    if (output !== null) expect(printed[step]).toMatch(patternOf(output))
  })
  for (const { text } of blocks.filter(({ name }) => name === 'server')) {
    expect(started).toMatch(patternOf(`${text.trim()}…`))
  }
}

/** A call of a command that fails: the first is 1. */
interface Broken {
  command: string
  call: number
}

/** Replaces a command on `PATH` by one that fails at one call within the page's script, and counts those calls. */
function breakCommand(bin: string, { command, call }: Broken): void {
  const own = join(bin, command)
  const real = existsSync(own)
    ? join(bin, `real-${command}`)
    : execFileSync('which', [command], { encoding: 'utf8' }).trim()
  if (existsSync(own)) renameSync(own, real)
  const count = join(bin, `${command}.calls`)
  const lines = [
    '#!/bin/sh',
    `if [ -n "$BREAK" ]; then printf x >> '${count}'; [ "$(wc -c < '${count}')" -ne ${call} ] || exit 9; fi`,
    `exec '${real}' "$@"`,
  ]
  writeFileSync(count, '')
  writeFileSync(own, `${lines.join('\n')}\n`, { mode: 0o755 })
}

describe('pages with commands', () => {
  describe.each(SEEDS)('one after the other on one server, in the order %i', seed => {
    let place: Place
    beforeAll(async () => {
      place = await startPlace(together)
    })
    afterAll(() => place.remove())

    test.each(shuffled(together, seed))('%s runs as it is written', { timeout: 240_000 }, page =>
      expectShown(page, place),
    )
  })

  describe('a script fails when a step of it fails', () => {
    let place: Place
    beforeAll(async () => {
      place = await startPlace(scripted)
    })
    afterAll(() => place.remove())

    test.each(scripted)('%s', { timeout: 240_000 }, async page => {
      const blocks = blocksOf(join(ROOT, page))
      const script = blocks.find(({ name }) => name.endsWith('.sh'))?.text ?? ''
      const commands = BREAKABLE.filter(name => new RegExp(`\\b${name}\\b`).test(script))
      const passed: Array<[command: string, calls: number, call: number]> = []
      for (const command of commands) {
        for (let call = 1; call < MOST_CALLS; call++) {
          const done = await follow(blocks, page, place, { command, call }).catch(() => null)
          if (done !== null) {
            passed.push([command, done.calls, call])
            break
          }
        }
      }
      // The first run that passes is the one whose broken call does not come.
      expect(passed.map(([, calls, call]) => call - calls)).toEqual(commands.map(() => 1))
      expect(passed.filter(([, calls]) => calls === 0)).toEqual([])
    })
  })

  test.each(apart)('%s runs as it is written', { timeout: 240_000 }, async page => {
    const place = await startPlace([page])
    try {
      await expectShown(page, place)
    } finally {
      await place.remove()
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
    const missing = Object.keys(COMMANDS).filter(
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
  const named = [words.slice(0, 2).join(' '), words[0] ?? ''].find(isCommand)
  if (named === undefined) return `no command ${words[0]}`
  const flag = words
    .filter(word => word.startsWith('--'))
    .find(word => !helpOf(named).includes(word.split('=')[0] ?? ''))
  return flag === undefined ? null : `${named} has no ${flag}`
}

function shuffled(pages: readonly string[], seed: number): string[] {
  const draws = new Draws(seed)
  const left = [...pages]
  return pages.flatMap(() => left.splice(draws.below(left.length), 1))
}
