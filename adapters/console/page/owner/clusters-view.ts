import type { NodeStats } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { shownBytes, shownCount } from '../widgets/shown-values.ts'
import { Age, table } from '../widgets/table.ts'
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
    <${Card} title="Clusters" error=${stats.error}>
      ${table(stats.value && remote, 'All clusters are on this node.', ({ clusters }) => clusters.join(' '), [
        ['Cluster', ({ clusters, peers }) => html`${clusters.join(', ')}${peers.map(wordsOnPeer)}`, 'name'],
        ['To pin', ({ pins }) => shownCount(pins)],
        ['To unpin', ({ unpins }) => shownCount(unpins)],
        ['Oldest', ({ since }) => (since === null ? '–' : html`<${Age} at=${new Date(since).toISOString()} />`)],
        [
          'State',
          ({ error }) =>
            error === null
              ? html`<span class="badge good">reachable</span>`
              : html`<span class="badge bad">unreachable</span><span class="under">${error}</span>`,
        ],
      ])}
      ${own.length > 0 && html`<p class="hint">On this node: ${own.map(({ id }) => id).join(', ')}</p>`}
    </${Card}>
    <${NodesCard} />
    <${LostCard} />
  </div>`
}

function wordsOnPeer({ peer, error, freeBytes }: RemoteCluster['peers'][number]) {
  const free = freeBytes === null ? 'reachable' : `${shownBytes(freeBytes)} free`
  return html`<span key=${peer} class="under">${peer}: ${error ?? free}</span>`
}
