import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Draws } from '../../support/draws.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { now } from '../account-log.ts'
import { BrokenOff, UNAVAILABLE } from '../client.ts'
import { until, untilNone } from '../clusters/until.ts'
import { contentKey, contentsOn } from './copy-places.ts'
import type { Id, TorturedFleet } from './tortured-fleet.ts'

/** Records whose content is on a node, or is to be fetched by it. */
const RECORDS_OF = `
  SELECT account_id AS account, cid, ${contentKey} AS content FROM records r
  WHERE EXISTS (SELECT 1 FROM holds h JOIN nodes n ON n.name = h.node WHERE h.id = r.hold_id AND n.number = $1)
    OR EXISTS (SELECT 1 FROM fetches f JOIN nodes n ON n.name = f.node WHERE f.id = r.fetch_id AND n.number = $1)`

/** In ms. The hold of an upload that a kill interrupted lasts ten minutes. */
const RETIREMENT_MS = 720_000

const AWAY_MS = 10_000

/** Causes another failure while the other nodes work on the change of members. */
export type Meanwhile = () => Promise<void>

/**
 * Kills a node, deletes its directory and forgets it. A new node takes its place, mostly with a new id. Logs which
 * contents may be lost.
 */
export async function wipeAndForget(fleet: TorturedFleet, draws: Draws, meanwhile: Meanwhile): Promise<void> {
  const [id, ...others] = shuffled(fleet, draws)
  const name = fleet.nameOf(id)
  await fleet.kill(id)
  const number = await numberOf(fleet, name)
  const keepsId = draws.below(3) === 0
  const kept = await contentsOn(fleet, fleet.copies > 1 ? others : [])
  await fleet.replace(id, keepsId)
  if (!keepsId) await restart(fleet, draws, [id, ...others])
  const lose = await lossOf(fleet, number, kept)
  // Until the node is given up, an upload of the same content is a repeat.
  lose(Number.POSITIVE_INFINITY)
  await ask(fleet, others, `/admin/v1/nodes/${name}/forget`, { isReplaced: keepsId })
  lose(now())
  if (keepsId) await fleet.start(id)
  await meanwhile()
  await until(`node ${name} is forgotten`, async () => (await stateOf(fleet, number)) === 'forgotten')
}

/** Retires a node into another. It must become empty. A new node takes its place. */
export async function retireAndReplace(fleet: TorturedFleet, draws: Draws, meanwhile: Meanwhile): Promise<void> {
  const [id, to, ...others] = shuffled(fleet, draws)
  const name = fleet.nameOf(id)
  const number = await numberOf(fleet, name)
  fleet.setHome(id, to)
  await restart(fleet, draws, [to, ...others, id])
  await ask(fleet, [to, ...others], `/admin/v1/nodes/${name}/retire`, { to: fleet.nameOf(to) })
  await meanwhile()
  const left = async (): Promise<number> => {
    if ((await stateOf(fleet, number)) === 'retired') return 0
    return 1 + (await fleet.ask(RECORDS_OF, [number])).length
  }
  await untilNone(`node ${name} has retired`, left, RETIREMENT_MS)
  await until(`the retired node ${name} is empty`, async () => {
    await fleet.node(id).client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })
    return isDeepStrictEqual(await storeSizes(fleet.directory(id)), EMPTY)
  })
  await fleet.end(id, draws.below(2) === 0)
  await fleet.replace(id)
  fleet.setHome(id, id)
  await restart(fleet, draws, [id, to, ...others])
}

/** One or two nodes are away for so long that the others copy what they have. Then they return with their directories. */
export async function leaveForLong(fleet: TorturedFleet, draws: Draws, meanwhile: Meanwhile): Promise<void> {
  const ids = shuffled(fleet, draws)
  const gone = ids.slice(0, 1 + draws.below(2))
  const nodes = gone.map(id => fleet.nameOf(id))
  for (const id of gone) await fleet.kill(id)
  await fleet.ask("UPDATE nodes SET last_seen_at = last_seen_at - INTERVAL '1 hour' WHERE id = ANY($1)", [nodes])
  if (fleet.copies > 1) await ask(fleet, ids.slice(gone.length), '/admin/v1/nodes/away', { nodes })
  await sleep(draws.below(AWAY_MS))
  for (const id of gone) await fleet.start(id)
  await meanwhile()
}

export function shuffled({ ids }: TorturedFleet, draws: Draws): [Id, Id, ...Id[]] {
  const from = draws.below(ids.length)
  const [first, ...others] = [...ids.slice(from), ...ids.slice(0, from)]
  return [first, ...(draws.below(2) === 0 ? others : others.toReversed())] as [Id, Id, ...Id[]]
}

/** Restarts nodes one after the other, each stopped or killed. */
async function restart(fleet: TorturedFleet, draws: Draws, ids: readonly Id[]): Promise<void> {
  for (const id of ids) {
    await fleet.end(id, draws.below(2) === 0)
    await fleet.start(id)
  }
}

async function numberOf(fleet: TorturedFleet, name: string): Promise<number> {
  const text = "SELECT number FROM nodes WHERE id = $1 AND state IN ('active', 'retiring')"
  const [row] = await fleet.ask<{ number: number }>(text, [name])
  assert.ok(row, `there is no node ${name}`)
  return row.number
}

async function stateOf(fleet: TorturedFleet, number: number): Promise<string | undefined> {
  const [row] = await fleet.ask<{ state: string }>('SELECT state FROM nodes WHERE number = $1', [number])
  return row?.state
}

/** Returns a function that logs when records of a node may have been lost, unless other ledgers have `kept` their content. */
async function lossOf(fleet: TorturedFleet, number: number, kept: ReadonlySet<string>): Promise<(at: number) => void> {
  const found = await fleet.ask<{ account: string; cid: string; content: string }>(RECORDS_OF, [number])
  const rows = found.filter(({ content }) => !kept.has(content))
  return at => {
    for (const { id, log } of fleet.tenants) {
      log.lose(
        rows.flatMap(({ account, cid }) => (account === id ? cid : [])),
        at,
      )
    }
  }
}

/** Sends a request of the owner until one of the nodes accepts it. */
async function ask(fleet: TorturedFleet, through: readonly Id[], path: string, body: object): Promise<void> {
  let tries = 0
  await until(`${path} is accepted`, async () => {
    const node = fleet.node(through[tries++ % through.length] ?? 'a')
    try {
      const { status, json } = await node.client.json('POST', path, body)
      // Just after its end, the database still counts a node as running.
      assert.ok([202, 409, ...UNAVAILABLE].includes(status), `${path}: ${status} ${JSON.stringify(json)}`)
      return status === 202
    } catch (error) {
      if (error instanceof BrokenOff) return false
      throw error
    }
  })
}
