import assert from 'node:assert/strict'
import { until, untilNone } from '../clusters/until.ts'
import { settleCopies } from './copy-places.ts'
import type { TorturedFleet } from './tortured-fleet.ts'

interface LostRecord {
  account: string
  cid: string
  status: string
  reason: string | null
  node: string
}

const WAITING = "SELECT cid FROM records WHERE status IN ('queued', 'pinning') LIMIT 1"
const FAILED = "SELECT cid, status_reason AS reason FROM records WHERE status = 'failed' AND lost_with IS NULL"

/**
 * Waits for all work. Checks that only content on the disk of a wiped node is lost, and only if no other node has it. Removes the lost
 * records. Returns a text about them for the progress.
 */
export async function settleLoss(fleet: TorturedFleet): Promise<string> {
  await untilNone('all offers are taken', async () => (await fleet.ask('SELECT 1 FROM offers')).length)
  await until('no record waits for its content', async () => (await fleet.ask(WAITING)).length === 0)
  if (fleet.copies > 1) await settleCopies(fleet)
  assert.deepEqual(await fleet.ask(FAILED), [], 'records have failed for another reason than a lost node')
  const { client } = fleet.node('a')
  const { json } = await client.json<{ records: LostRecord[]; next: string | null }>('GET', '/admin/v1/lost?limit=1000')
  assert.equal(json.next, null)
  const removed = new Set<string>()
  for (const { account, cid, status, reason, node } of json.records) {
    const tenant = fleet.tenants.find(({ id }) => id === account)
    assert.ok(tenant)
    const { log } = tenant
    const at = log.lostAt(cid)
    assert.ok(at !== null, `${cid} was acknowledged and is lost with node ${node}`)
    assert.ok(status === 'failed' && reason?.startsWith(`lost with node ${node}`), `${cid} is ${status}: ${reason}`)
    const kept = fleet.tenants.some(other => other.log.lostAt(cid) === null && other.log.isSteady(cid, at))
    assert.ok(!kept, `${cid} is lost, but another node has it`)
    // A content may have several records of an account. One removal ends all.
    if (removed.has(`${account} ${cid}`)) continue
    removed.add(`${account} ${cid}`)
    const acknowledge = log.find(cid) === undefined ? () => undefined : log.removing(cid)
    const answer = await fleet.clientOf(tenant).ask('DELETE', `/api/v3/files/remove/${cid}`)
    assert.equal(answer.status, 200)
    acknowledge()
  }
  const atRisk = fleet.tenants.reduce((sum, { log }) => sum + log.lost, 0)
  return atRisk === 0 ? '' : `; ${json.records.length} of ${atRisk} on a lost disk are lost`
}
