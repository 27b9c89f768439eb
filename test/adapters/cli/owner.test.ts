import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { serveEngine } from '../../support/served-engine.ts'
import { type Env, runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

/** Many processes, one after the other. */
const LONG_MS = 90_000

/** Makes a command believe that it prints to a terminal. */
const PRETEND = 'data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=80'
const TERMINAL = { NODE_OPTIONS: `--import=${PRETEND}` }

let directory: ReturnType<typeof temporaryDirectory>
let dataDir: string

beforeAll(() => {
  directory = temporaryDirectory()
  dataDir = join(directory.path, 'data')
})
afterAll(() => directory.remove())

async function json(args: string[], env: Env = {}) {
  const finished = await runHoldfast([...args, '--json'], env)
  expect(finished).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(finished.stdout)
}

/** Returns the files of larger blocks. */
function blockFiles(): string[] {
  const entries = readdirSync(join(dataDir, 'blocks'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

test(
  'the owner administers the node by its server and its directory',
  async () => {
    const served = await serveEngine(dataDir)
    const { env } = served
    const file = join(directory.path, 'file.bin')
    writeFileSync(file, pseudoRandom(100_000, 'owner'))
    const { cid } = await json(['upload', file], env)

    const before = await json(['stats'], env)
    expect(before).toMatchObject({
      accounts: 1,
      pins: { pinned: 1 },
      blocks: { durable: { count: 1, bytes: 100_000 } },
    })

    // Verify reports damage with its roots, and another upload repairs it.
    const [block = ''] = blockFiles()
    const damaged = readFileSync(block)
    damaged[0] = (damaged[0] ?? 0) ^ 1
    writeFileSync(block, damaged)
    const found = await runHoldfast(['verify'], env)
    expect(found).toMatchObject({ code: 1, stderr: 'holdfast: damage in 1 block\n' })
    expect(found.stdout).toContain(`has the wrong hash; needed by ${cid}\nchecked 100.0 kB in 1 block, 1 damaged\n`)
    rmSync(block)
    const looked = await runHoldfast(['reconcile', '--dry-run'], env)
    expect(looked).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was changed') })
    expect(looked.stdout).toMatch(/^block-lost {2}baf\w+ {2}is missing\nblock-lost 1\n$/)
    expect(await json(['reconcile'], env)).toMatchObject({ dryRun: false, found: { 'block-lost': 1 } })
    await json(['upload', file], env)
    expect((await runHoldfast(['reconcile'], env)).stdout).toContain('everything fits together\n')
    expect(await json(['verify'], env)).toEqual({ blocks: 1, bytes: 100_000, damaged: [], damagedBlocks: 0 })

    await json(['rm', cid], env)
    expect(await json(['gc', '--grace', '0'], env)).toMatchObject({ blocks: 1, bytes: 100_000 })
    expect(blockFiles()).toEqual([])

    // While a server has the directory open, only the server can answer.
    const inUse = await runHoldfast(['stats', '--data-dir', dataDir])
    expect(inUse).toMatchObject({ code: 1, stdout: '' })
    expect(inUse.stderr).toMatch(/^holdfast: .* is in use by another running Holdfast: .*HOLDFAST_API_KEY.*\n$/)
    await served[Symbol.asyncDispose]()

    const here = ['--data-dir', dataDir]
    expect(await json(['stats', ...here])).toMatchObject({ accounts: 1, pins: { pinned: 0 } })
    const { usage, egress: _, defaultCluster: __, ...owner } = await json(['accounts', ...here])
    expect([owner.email, usage]).toEqual(['owner@localhost', expect.objectContaining({ pins: 0 })])
    expect(await json(['account', 'list', ...here])).toEqual(owner)
    const shown = await runHoldfast(['account', 'list', ...here], TERMINAL)
    expect(shown.stdout).toMatch(/^EMAIL +PLAN +ROLE +SINCE +ID\nowner@localhost {2}unlimited {2}owner /)
    expect((await runHoldfast(['verify', ...here])).stdout).toBe('checked 0 B in 0 blocks, 0 damaged\n')
    expect((await runHoldfast(['gc', ...here])).stdout).toBe('freed 0 B in 0 blocks of 0 roots\n')
  },
  LONG_MS,
)

test(
  'other accounts are refused',
  async () => {
    const otherDir = join(directory.path, 'other')
    const served = await serveEngine(otherDir)
    const create = ['account', 'create', '--email', 'a@example.org', '--plan', 'unlimited', '--data-dir', otherDir]
    const { key } = JSON.parse((await runHoldfast(create)).stdout)
    const lesser = ['key', 'create', '--account', 'owner@localhost', '--scopes', 'files:read', '--data-dir', otherDir]
    const partly = JSON.parse((await runHoldfast(lesser)).stdout)
    const ask = (secret: string) => runHoldfast(['accounts'], { ...served.env, HOLDFAST_API_KEY: secret })

    expect(await ask(key)).toMatchObject({ code: 1, stderr: expect.stringContaining('(403 OWNER_REQUIRED)') })
    expect(await ask(partly.key)).toMatchObject({ code: 1, stderr: expect.stringContaining('(403 missing_scope)') })
    const { code, stdout } = await ask(served.key)
    expect(code).toBe(0)
    expect(stdout.split('\n').map(line => line.split(/ {2,}/, 3))).toEqual([
      ['EMAIL', 'PLAN', 'ROLE'],
      ['owner@localhost', 'unlimited', 'owner'],
      ['a@example.org', 'unlimited', 'user'],
      [''],
    ])
    await served[Symbol.asyncDispose]()
  },
  LONG_MS,
)

test('a command without server and directory fails in one line', async () => {
  const nowhere = join(directory.path, 'nowhere')
  const wrong: [number, string[], RegExp][] = [
    [
      1,
      ['stats', '--data-dir', nowhere],
      /nowhere is not a data directory: holdfast serve makes one at its first start, .*\n$/,
    ],
    [
      2,
      ['stats', '--data-dir', dataDir, '--api', 'http://127.0.0.1:1/api/v3'],
      /--data-dir excludes --api and --key\n$/,
    ],
    [2, ['stats', '--config', 'x.json'], /--config requires --data-dir\n$/],
    [2, ['stats', '--api', 'http://127.0.0.1:1/elsewhere'], /--api must end in \/api\/v3 for this/],
    [2, ['gc', '--grace', '-1'], /--grace/],
  ]
  await Promise.all(
    wrong.map(async ([code, args, message]) => {
      const finished = await runHoldfast(args, { HOLDFAST_API_KEY: 'some key' })
      expect(finished, args.join(' ')).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    }),
  )
})
