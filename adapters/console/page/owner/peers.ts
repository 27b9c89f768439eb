import type { NodePeers } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { FieldProblem } from '../widgets/field.ts'
import { formatAge, shownCount } from '../widgets/shown-values.ts'
import { useNow } from '../widgets/use-now.ts'
import { useWatch } from './use-watch.ts'

export function PeersView() {
  const { client } = useSession()
  const { value, error } = useWatch(signal => client.owner.peers(signal), [client])
  return html`<div class="stack">
    <${FieldProblem} text=${error} />
    ${value !== undefined && html`<${Addresses} peers=${value} />`}
    ${value !== undefined && value.peerId !== null && html`<${Connected} peers=${value} />`}
  </div>`
}

function Addresses({ peers: { peerId, addresses } }: { peers: NodePeers }) {
  return html`<section class="card" aria-labelledby="addresses-title">
    <h2 id="addresses-title">This node</h2>
    ${
      peerId === null
        ? html`<p class="empty">Networking is off: the node serves its content over HTTP only.</p>`
        : html`<p>Peer <code>${peerId}</code></p>
            <ul class="addresses">${addresses.map(
              address => html`<li key=${address}>
                <code>${address}</code> <${CopyButton} text=${address} what="address" />
              </li>`,
            )}</ul>`
    }
  </section>`
}

function Connected({ peers: { peers, count } }: { peers: NodePeers }) {
  const now = useNow()
  return html`<section class="card" aria-labelledby="peers-title">
    <h2 id="peers-title">Connected <span class="count">${shownCount(count)}</span></h2>
    ${peers.length === 0 && html`<p class="empty">No peer is connected yet. Others find no content of this node.</p>`}
    ${
      peers.length > 0 &&
      html`<div class="list"><table class="stacked">
        <thead><tr>
          <th scope="col">Peer</th><th scope="col">Dialled by</th><th scope="col" class="age">Since</th>
        </tr></thead>
        <tbody>${peers.map(
          ({ id, address, direction, since }) => html`<tr key=${`${id} ${address} ${since}`}>
            <td class="name"><code>${id}</code><span class="under mono">${address}</span></td>
            <td data-label="Dialled by">${direction === 'inbound' ? 'it' : 'this node'}</td>
            <td class="age" data-label="Since">${formatAge(since, now)}</td>
          </tr>`,
        )}</tbody>
      </table></div>`
    }
  </section>`
}
