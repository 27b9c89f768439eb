import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { directoryOf, leaf, randomFile } from '../../pins/fetches/support/dags.ts'
import { runHoldfast, ServerProcess, temporaryDirectory } from '../../support/server-process.ts'
import { carOf } from './support/cars.ts'

const KEY = 'a key of the owner for tests, long enough'

let files: ReturnType<typeof temporaryDirectory>
let server: ServerProcess

beforeEach(async () => {
  files = temporaryDirectory()
  server = await ServerProcess.start(join(files.path, 'data'), [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
})
afterEach(async () => {
  await ServerProcess.killAll()
  files.remove()
})

function run(...args: string[]) {
  return runHoldfast(['import', ...args], { HOLDFAST_API: server.api, HOLDFAST_API_KEY: KEY })
}

function write(name: string, bytes: Uint8Array): string {
  const path = join(files.path, name)
  writeFileSync(path, bytes)
  return path
}

describe('holdfast import', () => {
  test('prints every root, as text or JSON, and the content is served', async () => {
    const words = leaf(Buffer.from('words from a CAR'))
    const dag = directoryOf({ words, file: randomFile(3, 200_000, 'command') })
    const path = write('words.car', await carOf([dag.root, words.root], dag.blocks))
    const first = await run(path, '--cluster', 'cl1-eu', '--timelock', '2099-01-01T00:00:00Z')
    expect(first).toEqual({ code: 0, stdout: `${dag.root}  pinned\n${words.root}  pinned\n`, stderr: '' })
    const again = await run(path, '--cluster', 'cl1-eu', '--timelock', '2099-01-01T00:00:00Z', '--json')
    const answer = JSON.parse(again.stdout)
    expect(answer).toMatchObject({ cid: `${dag.root}`, name: 'words', clusterId: 'cl1-eu', status: 'pinned' })
    expect(answer.expiresAt).toBe('2099-01-01T00:00:00.000Z')
    expect(answer.roots).toHaveLength(2)
    const served = await fetch(`${server.url}/ipfs/${dag.root}/words`)
    expect(await served.text()).toBe('words from a CAR')
  })

  test('reports an error in one line, with exit code 1', async () => {
    const dag = randomFile(3, 100_000, 'damaged')
    const car = await carOf([dag.root], dag.blocks)
    const cut = await run(write('cut.car', car.subarray(0, -5)))
    expect(cut).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^holdfast: .*ends within.*\n$/) })
    const holed = write('holed.car', await carOf([dag.root], dag.blocks.slice(0, 3)))
    const refused = await run(holed)
    const missing = dag.blocks[3]?.cid
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`${missing}`) })
    const kept = await run(holed, '--allow-partial')
    expect(kept).toEqual({ code: 0, stdout: `${dag.root}  failed, 1 block missing\n`, stderr: '' })
    for (const path of [join(files.path, 'nowhere.car'), files.path]) {
      expect(await run(path)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^holdfast: .+\n$/) })
    }
  })

  test('refuses wrong arguments', async () => {
    const help = await run('--help')
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: holdfast import FILE\.car/) })
    for (const args of [[], ['a.car', 'b.car'], ['a.car', '--cluster']]) {
      expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(/^holdfast: .+\n$/) })
    }
    const keyless = await runHoldfast(['import', 'a.car'], { HOLDFAST_API: server.api })
    expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining('HOLDFAST_API_KEY') })
  })
})

test('a request body can be a CAR, as curl sends it', async () => {
  const dag = randomFile(3, 150_000, 'curl')
  const body = await carOf([dag.root], dag.blocks)
  const response = await fetch(`${server.api}/files/car`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/vnd.ipld.car' },
    body: new Uint8Array(body),
  })
  expect(response.status).toBe(201)
  expect(await response.json()).toMatchObject({ cid: `${dag.root}`, size: 450_000 })
  const back = await fetch(`${server.url}/ipfs/${dag.root}?format=car`)
  expect((await back.arrayBuffer()).byteLength).toBe(body.length)
})
