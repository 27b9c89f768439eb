import { execFile, spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../adapters/client/index.ts'
import { snippetsFor } from '../../adapters/console/page/account/key-snippets.ts'
import { SNIPPETS } from '../../src/contract/openapi/snippets.ts'
import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'
import { needs } from '../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const KEY = 'key-of-the-owner-for-snippets-0123456789'
/** How to run each language, and a command that checks whether it is installed. */
const RUNTIMES = {
  JavaScript: { file: 'snippet.mjs', run: ['node'], probe: ['node', '--version'] },
  curl: { file: 'snippet.sh', run: ['sh'], probe: ['curl', '--version'] },
  Python: { file: 'snippet.py', run: ['python3'], probe: ['python3', '-c', 'import requests'] },
  Go: { file: 'snippet.go', run: ['go', 'run'], probe: ['go', 'version'] },
  PHP: { file: 'snippet.php', run: ['php'], probe: ['php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'] },
}
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

let directory: ReturnType<typeof temporaryDirectory>
let server: ServerProcess

beforeAll(async () => {
  directory = temporaryDirectory()
  server = await ServerProcess.start(join(directory.path, 'data'), [], { HOLDFAST_BOOTSTRAP_KEY: KEY }, 400_000)
})
afterAll(async () => {
  await ServerProcess.killAll()
  directory.remove()
})

function runtime(language: string) {
  const found = Object.entries(RUNTIMES).find(([name]) => name === language)?.[1]
  if (found === undefined) throw new Error(`it is not known what runs ${language}`)
  const [command = '', ...args] = found.probe
  if (spawnSync(command, args).status !== 0)
    return { ...found, missing: `there is no ${language}, or not all it needs` }
  // Go compiles its standard library first, which takes a minute on a new machine.
  const missing = language === 'Go' && !isHeavy ? 'Go is run with HOLDFAST_TEST_HEAVY=1 only' : null
  return { ...found, missing }
}

describe('the snippets of the documentation page', () => {
  for (const { language, text } of SNIPPETS) {
    const { file, run, missing } = runtime(language)
    const options = { timeout: 300_000, ...needs(missing === null, missing ?? '') }
    test(`${language} uploads a file and lists the uploads`, options, async () => {
      const cwd = join(directory.path, language)
      await mkdir(cwd)
      await writeFile(join(cwd, file), text)
      await writeFile(join(cwd, 'photo.jpg'), `a photo for ${language}`)
      const env = { ...process.env, HOLDFAST_API: server.api, HOLDFAST_API_KEY: KEY }
      const [command = '', ...args] = run
      const { stdout } = await promisify(execFile)(command, [...args, file], { cwd, env })
      const [cid] = /\bbafk[a-z2-7]+/.exec(stdout) ?? []
      expect(stdout.split(cid ?? 'nothing').length).toBeGreaterThan(2)
      expect(stdout).toContain('photo.jpg')
      expect(await (await fetch(`${server.url}/ipfs/${cid}`)).text()).toBe(`a photo for ${language}`)
    })
  }

  for (const scopes of [['files:write'], ['files:read']]) {
    for (const { language, text } of snippetsFor(scopes)) {
      const { file, run, missing } = runtime(language)
      test(`${language} of the console uses a key with ${scopes}`, needs(missing === null, missing ?? ''), async () => {
        const cwd = join(directory.path, `console-${language}-${scopes}`)
        await mkdir(cwd)
        await writeFile(join(cwd, file), text)
        await writeFile(join(cwd, 'photo.jpg'), 'a photo for the console')
        const client = new HoldfastClient({ base: server.api, key: KEY })
        await client.files.upload('listed', { name: 'listed.txt' })
        const { token } = await client.keys.create({ name: `${language}-${scopes}`.replace(':', '-'), scopes })
        const env = { ...process.env, HOLDFAST_API: server.api, HOLDFAST_API_KEY: token }
        const [command = '', ...args] = run
        const { stdout } = await promisify(execFile)(command, [...args, file], { cwd, env })
        expect(stdout).toMatch(scopes.includes('files:read') ? /\bbafk.*listed\.txt/s : /\bbafk[a-z2-7]+/)
      })
    }
  }

  test('are on the page, and the front page has the public notice', async () => {
    const page = await (await fetch(`${server.api}/docs`)).text()
    for (const { language } of SNIPPETS) expect(page).toContain(`id="in-${language.toLowerCase()}"`)
    expect(await (await fetch(`${server.url}/`)).text()).toContain(`<strong>${PUBLIC_NOTICE}</strong>`)
  })
})
