import { useState } from 'preact/hooks'
import type { KnownNode } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { plural, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { Age } from '../widgets/table.ts'
import { ForgetNodeDialog, RetireNodeDialog, targetsOf } from './node-dialogs.ts'
import { useWatch } from './use-watch.ts'

const LOOKS: Readonly<Record<KnownNode['state'], string>> = { up: 'good', leaving: 'wait', down: 'bad' }
const MEMBERSHIPS: Readonly<Record<Exclude<KnownNode['membership'], 'active'>, string>> = {
  retiring: 'retiring',
  retired: 'retired',
  forgetting: 'being forgotten',
  forgotten: 'forgotten',
}
/** Time in ms between two reads while a node retires or is being forgotten. */
const SOON_MS = 2_000
const USUAL_MS = 10_000

type Asked = { node: KnownNode; act: 'retire' | 'forget' }

/** Shows the nodes of the catalogue, and lets the owner retire and forget them. */
export function NodesCard() {
  const { client } = useSession()
  const [isChanging, setChanging] = useState(false)
  const load = async (signal: AbortSignal): Promise<KnownNode[]> => {
    const nodes = await client.owner.nodes(signal)
    setChanging(nodes.some(({ membership }) => membership === 'retiring' || membership === 'forgetting'))
    return nodes
  }
  const { value: nodes = [], error, isLoading, reload } = useWatch(load, [client], isChanging ? SOON_MS : USUAL_MS)
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = (): void => setAsked(null)
  const dialog = asked?.act === 'retire' ? RetireNodeDialog : ForgetNodeDialog
  return html`<${Card} title="Nodes" error=${error}>
    ${nodes.length === 0 && !isLoading && error === null && html`<p class="empty">This node runs alone.</p>`}
    <ul class="uploads nodes">${nodes.map(node => html`<${Row} key=${node.number} node=${node} nodes=${nodes} ask=${setAsked} />`)}</ul>
    ${asked !== null && html`<${dialog} node=${asked.node} nodes=${nodes} onClose=${close} onDone=${reload} />`}
  </${Card}>`
}

function Row({ node, nodes, ask }: { node: KnownNode; nodes: readonly KnownNode[]; ask: (asked: Asked) => void }) {
  const { id, url, state, membership, since, records, bytes, total, waits = [] } = node
  const hasEnded = membership === 'retired' || membership === 'forgotten'
  const isChanging = membership === 'retiring' || membership === 'forgetting'
  const isMember = membership === 'active' || membership === 'retiring'
  const mayRetire = isMember && state === 'up' && targetsOf(node, nodes).length > 0
  const mayForget = isMember && state === 'down' && !node.isLocked
  const all = total ?? 0
  const moved = Math.max(0, all - records)
  return html`<li>
    <div class="what"><span>${id}</span>
      <span class="under">${url}</span>
      <span class="under">${hasEnded ? html`<${Age} at=${since} />` : `${plural(records, 'pin')}, ${shownBytes(bytes)}`}</span>
    </div>
    <div class="row">
      ${!hasEnded && html`<span class=${`badge ${LOOKS[state]}`}>${state}</span>`}
      ${membership !== 'active' && html`<span class=${`badge ${isChanging ? 'wait' : ''}`}>${MEMBERSHIPS[membership]}</span>`}
    </div>
    ${
      isChanging &&
      html`<progress aria-label=${`Progress of ${id}`} max=${Math.max(all, 1)} value=${moved}></progress>
        <p class="hint" role="status">${membership === 'retiring' ? 'Moved' : 'Taken over'}: ${plural(moved, 'pin')} of ${shownCount(all)}</p>`
    }
    ${waits.map(wait => html`<p class="hint" key=${wait}>${wait}</p>`)}
    ${
      (mayForget || mayRetire) &&
      html`<div class="buttons">
        ${mayRetire && html`<button class="small" aria-label=${`Retire ${id}`} onClick=${() => ask({ node, act: 'retire' })}>Retire</button>`}
        ${mayForget && html`<button class="small danger" aria-label=${`Forget ${id}`} onClick=${() => ask({ node, act: 'forget' })}>Forget</button>`}
      </div>`
    }
  </li>`
}
