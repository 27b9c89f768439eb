import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineConfig } from '../../src/index.ts'
import { Draws } from '../support/draws.ts'
import { fixedPort } from '../support/fixed-port.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { AccountLog, now } from './account-log.ts'
import { inspect } from './inspection.ts'
import { Load } from './load.ts'
import type { Tortured, TortureOptions } from './torture.ts'
import { TortureServer } from './torture-server.ts'

/** The server is killed after at most this many answers. The other node fails at intervals of at most `LATER_MS`. */
const MOST_ANSWERS = 40
const LATER_MS = 400
/** In ms. The lease of an unpin with an unknown outcome lasts a minute. */
const PATIENCE_MS = 240_000
const LOOK_MS = 200

/** A node, and another one that keeps its only cluster. */
interface Places {
  nodeDir: string
  remoteDir: string
  port: number
  options: EngineConfig
}

/**
 * Loads a server whose cluster another server keeps, kills either at random moments, and restarts both. In the end the
 * other server has all acknowledged content; once everything is removed, it is empty.
 *
 * @throws AssertionError for the first broken promise
 */
export async function tortureRemoteNode(given: TortureOptions): Promise<Tortured> {
  const { rounds, seed, minutes, progress = () => {} } = given
  const home = await mkdtemp(join(tmpdir(), 'holdfast-elsewhere-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const port = await fixedPort()
  const backend = {
    type: 'holdfast' as const,
    url: `http://127.0.0.1:${port}/api/v3`,
    cluster: 'cl1-eu',
    keyEnv: 'TORTURE_KEY',
  }
  const cluster = { id: 'far', label: '', region: '', country: null, gateways: [], backend }
  const options = { clusters: [cluster], defaultCluster: 'far' }
  const places: Places = { nodeDir: join(home, 'node'), remoteDir: join(home, 'remote'), port, options }
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const log = new AccountLog()
  try {
    for (let round = 0; round < rounds && now() < latest; round++) {
      const before = log.acknowledged
      const at = await runUntilKilled(places, log, draws.fork(), round)
      done.acknowledged += log.acknowledged - before
      done.rounds++
      await inspectRound(places, log, at, round + 1 === rounds || now() >= latest)
      progress(`round ${round + 1} of ${rounds}: ${done.acknowledged} acknowledged`)
    }
    return done
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

function startNode({ nodeDir, options }: Places): Promise<TortureServer> {
  return TortureServer.start(nodeDir, { options })
}

function startRemote({ remoteDir, port }: Places): Promise<TortureServer> {
  return TortureServer.start(remoteDir, { port })
}

/** Kills the server once, and the other server repeatedly. Resolves with the time of the server's end. */
async function runUntilKilled(places: Places, log: AccountLog, draws: Draws, round: number): Promise<number> {
  let remote = await startRemote(places)
  const node = await startNode(places)
  const load = new Load(node.client, log)
  let isOver = false
  const outages = draws.fork()
  const comeAndGo = async (): Promise<void> => {
    while (!isOver) {
      await sleep(outages.below(LATER_MS))
      await remote.kill()
      await sleep(outages.below(LATER_MS))
      remote = await startRemote(places)
    }
  }
  const coming = comeAndGo()
  try {
    const killed = load.answered(1 + draws.below(MOST_ANSWERS)).then(() => sleep(draws.below(LATER_MS)))
    const running = load.run(draws, `round ${round} ${draws.below(2 ** 31)}`)
    await Promise.race([killed, running])
    load.end()
    await node.kill()
    await running
    // Later than any acknowledgement.
    return now() + 2
  } finally {
    load.end()
    isOver = true
    await node.kill()
    await coming
    await remote.kill()
  }
}

async function inspectRound(places: Places, log: AccountLog, at: number, isLast: boolean): Promise<void> {
  const remote = await startRemote(places)
  const node = await startNode(places)
  try {
    const listed = await inspect(node, log, at)
    log.settle(listed)
    if (!isLast) return
    await untilQuiet(node)
    await checkAgreement(node, log, remote)
    for (const cid of new Set(await node.client.list())) await node.client.ask('DELETE', `/api/v3/files/remove/${cid}`)
    await untilQuiet(node)
    assert.deepEqual(await remote.client.list(), [], 'pins are left on the other node')
    await emptied(node, places.nodeDir)
    await emptied(remote, places.remoteDir)
  } finally {
    await node.kill()
    await remote.kill()
  }
}

/** Checks that the other server has all acknowledged content, and that a reconciliation finds nothing. */
async function checkAgreement({ client }: TortureServer, log: AccountLog, remote: TortureServer): Promise<void> {
  const listed = new Set(await client.list())
  for (const { cid, hashes, expiresAt } of log.contents) {
    if (expiresAt !== null || !listed.has(cid)) continue
    for (const [path, hash] of Object.entries(hashes)) {
      assert.equal(
        await remote.client.hashOf(cid, path),
        hash,
        `${cid}/${path} is not on the node that keeps its cluster`,
      )
    }
  }
  const { status, json } = await client.json<{ found: object }>('POST', '/admin/v1/reconcile', {})
  assert.deepEqual([status, json.found], [200, {}], 'records and pins do not agree')
}

/** Waits until no placement is pending. */
async function untilQuiet({ client }: TortureServer): Promise<void> {
  for (const latest = now() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
    const { json } = await client.json<{ clusters: Array<{ pins: number; unpins: number }> }>('GET', '/admin/v1/stats')
    const waiting = json.clusters.reduce((sum, { pins, unpins }) => sum + pins + unpins, 0)
    if (waiting === 0) return
    assert.ok(now() < latest, `${waiting} placements are still pending`)
  }
}

async function emptied(server: TortureServer, dataDir: string): Promise<void> {
  assert.equal((await server.client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })).status, 200)
  await server.stop()
  assert.deepEqual(await storeSizes(dataDir), EMPTY, 'something is left after everything was removed')
}
