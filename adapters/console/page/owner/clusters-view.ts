import type { NodeStats } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatAge, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { LostCard } from './lost-card.ts'
import { NodesCard } from './nodes-card.ts'
import { useWatch } from './use-watch.ts'

type RemoteCluster = NonNullable<NodeStats['clusters']>[number]

/** Shows the clusters on other systems with their waiting placements, the nodes of the catalogue, and what was lost with them. */
export function ClustersView() {
  const { client, clusters } = useSession()
  const stats = useWatch(signal => client.owner.stats(signal), [client])
  const remote = stats.value?.clusters ?? []
  const others = new Set(remote.flatMap(one => one.clusters))
  const own = clusters.filter(({ id }) => !others.has(id))
  return html`<div class="stack">
    <section class="card" aria-labelledby="clusters-title">
      <h2 id="clusters-title">Clusters</h2>
      <${FieldProblem} text=${stats.error} />
      ${stats.value !== undefined && remote.length === 0 && html`<p class="empty">All clusters are on this node.</p>`}
      ${remote.length > 0 && html`<${Remote} clusters=${remote} />`}
      ${own.length > 0 && html`<p class="hint">On this node: ${own.map(({ id }) => id).join(', ')}</p>`}
    </section>
    <${NodesCard} />
    <${LostCard} />
  </div>`
}

function Remote({ clusters }: { clusters: readonly RemoteCluster[] }) {
  const now = useNow()
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Cluster</th><th scope="col">To pin</th><th scope="col">To unpin</th><th scope="col">Oldest</th>
      <th scope="col">State</th>
    </tr></thead>
    <tbody>${clusters.map(
      ({ clusters: names, peers, error, pins, unpins, since }) => html`<tr key=${names.join(' ')}>
        <td class="name">${names.join(', ')}${peers.map(
          peer =>
            html`<span key=${peer.peer} class="under">${peer.peer}: ${peer.error ?? freeOf(peer.freeBytes)}</span>`,
        )}</td>
        <td data-label="To pin">${shownCount(pins)}</td>
        <td data-label="To unpin">${shownCount(unpins)}</td>
        <td data-label="Oldest">${since === null ? '–' : formatAge(new Date(since).toISOString(), now)}</td>
        <td data-label="State">${error === null ? html`<span class="badge good">reachable</span>` : html`<span class="badge bad">unreachable</span><span class="under">${error}</span>`}</td>
      </tr>`,
    )}</tbody>
  </table></div>`
}

function freeOf(bytes: number | null): string {
  return bytes === null ? 'reachable' : `${shownBytes(bytes)} free`
}
