import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EngineConfig } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { KEY, type NodeProcess, openNodeProcesses } from '../support/fleet-processes.ts'
import { blocksOf, patternOf, runSteps, stepsOf } from '../support/guide.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { MAIN, temporaryDirectory } from '../support/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Starts of several processes, and waits of the guides. */
const LONGEST_MS = 400_000

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** Runs a command that an operator gives to a machine by `ssh` or `scp`. Returns false if the command fails. */
async function onMachine(command: string, nodes: readonly NodeProcess[], config: object): Promise<boolean> {
  const [program, id = '', ...words] = command.split(' ')
  const find = (name: string) => nodes.find(one => one.id === name)
  if (program === 'scp') {
    const [from, to] = [find(id.slice(0, 1)), find((words[0] ?? '').slice(0, 1))]
    if (from === undefined || to === undefined) return false
    mkdirSync(to.dataDir, { mode: 0o700 })
    copyFileSync(join(from.dataDir, 'data.key'), join(to.dataDir, 'data.key'))
    return true
  }
  const node = find(id)
  if (node === undefined) return false
  if (words[0] === 'curl') return (await fetch(`${node.url}/ready`)).status === 200
  if (words[1] !== 'start') await node.server.stop()
  Object.assign(node.config, config)
  if (words[1] !== 'stop') await node.start()
  return true
}

/** Follows a guide on a fleet, whose configuration it may change. */
async function follow(page: string, nodes: readonly NodeProcess[]): Promise<void> {
  const temporary = temporaryDirectory()
  const blocks = blocksOf(join(ROOT, page))
  const config = JSON.parse(blocks.find(({ name }) => name === 'config.json')?.text ?? '{}') as object
  const control = createServer(async (request, response) => {
    const isDone = await onMachine(await bodyOf(request), nodes, config).catch(() => false)
    response.writeHead(isDone ? 200 : 500).end()
  })
  await new Promise<void>(resolve => control.listen(0, '127.0.0.1', resolve))
  try {
    const bin = join(temporary.path, 'bin')
    mkdirSync(bin)
    const programs = {
      holdfast: `exec '${process.execPath}' '${MAIN}' "$@"`,
      ssh: 'exec curl --fail --silent --data "ssh $*" "$CONTROL"',
      scp: 'exec curl --fail --silent --data "scp $*" "$CONTROL"',
    }
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    const real = (text: string): string =>
      nodes.reduce((said, { url }, i) => said.replaceAll(`http://10.0.0.${i + 1}:4100`, url), text)
    const steps = stepsOf(blocks.map(block => (block.name === 'host' ? { ...block, name: '' } : block))).map(
      ({ commands, output }) => ({ commands: real(commands), output }),
    )
    const printed = await runSteps(steps, temporary.path, {
      ...process.env,
      PATH: `${bin}:${process.env.PATH}`,
      XDG_CONFIG_HOME: join(temporary.path, 'settings'),
      HOLDFAST_API: `${nodes[0]?.url}/api/v3`,
      HOLDFAST_API_KEY: KEY,
      CONTROL: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
    })
    expect(steps.length).toBeGreaterThan(0)
    steps.forEach(({ output }, i) => {
      if (output !== null) expect(printed[i]?.trim()).toMatch(patternOf(output))
    })
  } finally {
    control.close()
    temporary.remove()
  }
}

describe('guides of a fleet', { timeout: LONGEST_MS, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const cluster = { label: '', region: '', country: null, gateways: [], id: 'main' }
  const upload = async (node: NodeProcess | undefined, name: string): Promise<string> => {
    const form = new FormData()
    form.append('file', new Blob([Buffer.from(pseudoRandom(2_500_000, name))]), name)
    const answer = await node?.call<{ cid: string }>('POST', '/api/v3/files', form)
    return answer?.json.cid ?? ''
  }

  test('from one copy to two runs as it is written', async () => {
    const config: EngineConfig = { clusters: [{ ...cluster, node: 'a' }], defaultCluster: 'main' }
    const { a, b, nodes, close } = await openNodeProcesses(await server.fresh(), config)
    try {
      for (const node of nodes) node.drainSeconds = 5
      const cid = await upload(a, 'earlier')
      await follow('docs/guides/from-one-copy-to-two.md', nodes)
      // The first node is stopped at the end.
      const answer = await fetch(`${b.gateway}/ipfs/${cid}`)
      expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, 2_500_000])
    } finally {
      await close()
    }
  })

  test('replace a dead node runs as it is written', async () => {
    const members = { nodes: ['a', 'b', 'c'], copies: 2 }
    const config: EngineConfig = { clusters: [{ ...cluster, ...members, node: 'a' }], defaultCluster: 'main' }
    const { a, nodes, close } = await openNodeProcesses(await server.fresh(), config, 3)
    const dead = nodes[2] as NodeProcess
    try {
      const cids = [await upload(a, 'one'), await upload(a, 'two'), await upload(a, 'three')]
      await dead.kill()
      rmSync(dead.dataDir, { recursive: true })
      await follow('docs/guides/replace-a-dead-node.md', nodes)
      for (const cid of cids) {
        const shown = await a.call<{ replication_factor: number }>('GET', `/api/v3/allocations/${cid}`)
        expect(shown.json.replication_factor).toBe(2)
      }
    } finally {
      await close()
    }
  })
})
