import type { BackendStatus } from '../../src/clusters/cluster-backend.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import { cidOf, type DagIdentity, identityOf, parseCid } from '../../src/ipld/cid.ts'
import type { FleetParts } from '../../src/nodes/fleet-system.ts'
import { answerOf } from './node-answer.ts'
import type { NodeSender } from './node-sender.ts'

/** Path prefix of the requests for the peers that keep a DAG of an external cluster. The query names the cluster. */
export const NODE_PEERS_PATH = '/fleet/v1/peers/'

/** Longer than the three seconds for which the other node waits for its cluster. */
const ANSWER_MS = 5_000
/** In bytes. */
const LONGEST_ANSWER = 1024 * 1024

type Peers = BackendStatus['allocations']

/** Answers {@link peersOnNode} of another node. */
export function nodePeers(peersOf: FleetParts['peersOf']): ApiHandler {
  return async ({ path, query }) => {
    try {
      const dag = identityOf(parseCid(path.slice(NODE_PEERS_PATH.length)))
      const cluster = new URLSearchParams(query).get('cluster') ?? ''
      const body = JSON.stringify({ peers: await peersOf(cluster, dag) })
      return { status: 200, headers: { 'content-type': 'application/json' }, body }
    } catch (error) {
      return errorResponse(error, '')
    }
  }
}

/** Identifies a DAG of a cluster on another node. */
export interface DagOnNode {
  node: string
  cluster: string
  dag: DagIdentity
}

/**
 * Returns the peers that another node knows. Returns null if its cluster is not external, or if the node or its cluster
 * does not answer. A node of version 0.3.0 answers 404.
 */
export async function peersOnNode(
  sender: Pick<NodeSender, 'send'>,
  clock: Clock,
  { node, cluster, dag }: DagOnNode,
): Promise<Peers | null> {
  const target = `${NODE_PEERS_PATH}${cidOf(dag)}?${new URLSearchParams({ cluster })}`
  const request = { node, method: 'GET', target, whileLeaving: true }
  try {
    const { status, body } = await answerOf(sender, clock, { ...request, ms: ANSWER_MS, longest: LONGEST_ANSWER })
    if (status !== 200 || body === null) return null
    const { peers } = JSON.parse(body.toString()) as { peers?: Peers | null }
    return peers ?? null
  } catch {
    // The caller knows from the catalogue that the content exists, but not which peers keep it.
    return null
  }
}
