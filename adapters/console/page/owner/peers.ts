import type { NodePeers } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { FieldProblem } from '../widgets/field.ts'
import { Age, table } from '../widgets/table.ts'
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
  return html`<${Card} title="This node">
    ${
      peerId === null
        ? html`<p class="empty">Networking is off: the node serves its content over HTTP only.</p>`
        : html`<p>Peer <code>${peerId}</code></p>
            <ul class="addresses">${addresses.map(
              address => html`<li class="row spread" key=${address}>
                <code>${address}</code> <${CopyButton} text=${address} what="address" />
              </li>`,
            )}</ul>`
    }
  </${Card}>`
}

function Connected({ peers: { peers, count } }: { peers: NodePeers }) {
  return html`<${Card} title="Connected" count=${count}>${table(
    peers,
    'No peer is connected yet. Others find no content of this node.',
    ({ id, address, since }) => `${id} ${address} ${since}`,
    [
      ['Peer', ({ id, address }) => html`<code>${id}</code><span class="under mono">${address}</span>`, 'name'],
      ['Dialled by', ({ direction }) => (direction === 'inbound' ? 'it' : 'this node')],
      ['Since', ({ since }) => html`<${Age} at=${since} />`, 'age'],
    ],
  )}</${Card}>`
}
