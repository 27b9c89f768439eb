import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Draws } from '../../support/draws.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { now } from '../account-log.ts'
import { BrokenOff, UNAVAILABLE } from '../client.ts'
import { until, untilNone } from '../clusters/until.ts'
import { IDS, type Id, type TorturedFleet } from './tortured-fleet.ts'

/** Records whose content is on a node, or is to be fetched by it. */
const RECORDS_OF = `
  SELECT account_id AS account, cid FROM records r
  WHERE EXISTS (SELECT 1 FROM holds h JOIN nodes n ON n.name = h.node WHERE h.id = r.hold_id AND n.number = $1)
    OR EXISTS (SELECT 1 FROM fetches f JOIN nodes n ON n.name = f.node WHERE f.id = r.fetch_id AND n.number = $1)`

/** In ms. The hold of an upload that a kill interrupted lasts ten minutes. */
const RETIREMENT_MS = 720_000

/** Causes another failure while the other nodes work on the change of members. */
export type Meanwhile = () => Promise<void>

/**
 * Kills a node, deletes its directory and forgets it. A new node takes its place, mostly with a new id. Logs which
 * contents may be lost.
 */
export async function wipeAndForget(fleet: TorturedFleet, draws: Draws, meanwhile: Meanwhile): Promise<void> {
  const [id, ...others] = shuffled(draws)
  const name = fleet.nameOf(id)
  await fleet.kill(id)
  const number = await numberOf(fleet, name)
  const keepsId = draws.below(3) === 0
  await fleet.replace(id, keepsId)
  if (!keepsId) await restart(fleet, draws, [id, ...others])
  const lose = await lossOf(fleet, number)
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
  const [id, to, third] = shuffled(draws)
  const name = fleet.nameOf(id)
  const number = await numberOf(fleet, name)
  fleet.setHome(id, to)
  await restart(fleet, draws, [to, third, id])
  await ask(fleet, [to, third], `/admin/v1/nodes/${name}/retire`, { to: fleet.nameOf(to) })
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
  await restart(fleet, draws, [id, to, third])
}

function shuffled(draws: Draws): [Id, Id, Id] {
  const [first, ...others] = IDS.slice(draws.below(3)).concat(IDS).slice(0, 3) as [Id, Id, Id]
  const [second, third] = (draws.below(2) === 0 ? others : others.toReversed()) as [Id, Id]
  return [first, second, third]
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

/** Returns a function that logs when the records of a node may have been lost. */
async function lossOf(fleet: TorturedFleet, number: number): Promise<(at: number) => void> {
  const rows = await fleet.ask<{ account: string; cid: string }>(RECORDS_OF, [number])
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
