import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type BackendDefinition, knownClusters } from '../../src/domain/cluster.ts'
import type { EngineOptions } from '../../src/index.ts'
import { carAudits } from '../contract/audits-car.ts'
import { directoryAudits } from '../contract/audits-directory.ts'
import { listAudits } from '../contract/audits-lists.ts'
import { pinAudits } from '../contract/audits-pins.ts'
import { statusAudits } from '../contract/audits-status.ts'
import { uploadAudits } from '../contract/audits-uploads.ts'
import { type AuditClock, type Host, hosts, openWorld } from '../contract/hosts.ts'
import { type Answer, type Audit, type AuditClient, BASE, type World } from '../contract/world.ts'
import { withDatabase } from '../support/store-inspection.ts'

/** These audits expect peers of a local cluster. An external one reports the backend's peers. */
const OF_THIS_NODE = ['status.pinned', 'status.cluster']

/** Audits of the contract about content. */
export const contentAudits: readonly Audit[] = [
  ...uploadAudits,
  ...directoryAudits,
  ...carAudits,
  ...pinAudits,
  ...listAudits,
  ...statusAudits.filter(({ id }) => !OF_THIS_NODE.includes(id)),
]

/**
 * Opens a world whose clusters are all on one external backend without local copies. It delays each answer until the
 * backend has the content. Otherwise records would still be `pinning`.
 */
export async function openSettledWorld(
  backend: BackendDefinition,
  options: Partial<EngineOptions>,
  clock?: AuditClock,
): Promise<World & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-audit-'))
  const [{ serve }] = hosts as readonly [Host]
  const host: Host = {
    name: 'settled',
    serve: async engine => {
      const { client, close } = await serve(engine)
      return { client: settled(client, dataDir), close }
    },
  }
  const kept = { ...backend, cacheBytes: 0, localGraceSeconds: 0 }
  const clusters = knownClusters.map(cluster => ({ ...cluster, backend: kept }))
  return openWorld(host, { ...options, dataDir, clusters }, clock)
}

function settled(client: AuditClient, dataDir: string): AuditClient {
  const waiting = () =>
    withDatabase(dataDir, db => {
      const count = db.prepare<[], { count: number }>("SELECT COUNT(*) AS count FROM jobs WHERE kind = 'placement'")
      return count.get()?.count ?? -1
    })
  return {
    request: async (method, path, request = {}) => {
      const answer = await client.request(method, path, request)
      if (method === 'GET' || method === 'HEAD') return answer
      for (let looks = 0; looks < 1_000 && waiting() > 0; looks++) await wait(10)
      const { cid, cl, uploadId } = pinningIn(answer)
      if (cid === undefined) return answer
      const { headers = {} } = request
      const now = await client.request('GET', `${BASE}/status/${cid}?cl=${cl}`, { headers })
      if (now.json.uploadId !== uploadId) return answer
      const body = asNow(answer.json, now.json.status) as Record<string, unknown>
      return { ...answer, header: answer.header, json: body, body: Buffer.from(JSON.stringify(body)) }
    },
  }
}

/** Updates an answer whose record was waiting. */
function asNow(value: unknown, status: string): unknown {
  if (Array.isArray(value)) return value.map(item => asNow(item, status))
  if (typeof value !== 'object' || value === null) return value
  const told = Object.entries(value).map(([name, item]) => {
    return [name, name === 'status' && item === 'pinning' ? status : asNow(item, status)]
  })
  return Object.fromEntries(told)
}

/** Returns the record of an answer if it is still waiting. */
function pinningIn({ header, body }: Answer): { cid?: string; cl?: string; uploadId?: string } {
  if (header('content-type')?.startsWith('application/json') !== true) return {}
  const value = JSON.parse(body.toString()) as Record<string, string>
  return value.status === 'pinning'
    ? { cid: value.cid ?? '', cl: value.clusterId ?? '', uploadId: value.uploadId ?? '' }
    : {}
}
