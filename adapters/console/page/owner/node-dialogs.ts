import { useState } from 'preact/hooks'
import type { KnownNode } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { plural } from '../widgets/shown-values.ts'

export interface NodeDialogProps {
  node: KnownNode
  nodes: readonly KnownNode[]
  onClose: () => void
  onDone: () => void
}

/** Returns the nodes that may take the content of a node. */
export function targetsOf(node: KnownNode, nodes: readonly KnownNode[]): KnownNode[] {
  return nodes.filter(one => one.number !== node.number && one.membership === 'active' && one.state === 'up')
}

export function RetireNodeDialog({ node: { id, records }, node, nodes, onClose, onDone }: NodeDialogProps) {
  const { client } = useSession()
  const targets = targetsOf(node, nodes).map(one => [one.id, one.id] as const)
  const [to, setTo] = useState(targets[0]?.[0] ?? '')
  return html`<${ConfirmDialog} title=${`Retire ${id}?`} label="Retire it" onClose=${onClose} onDone=${onDone}
    said=${`${id} is retiring`} act=${() => client.owner.retireNode(id, { to })}>
    <p>Another node takes ${plural(records, 'pin')} of ${id}. All pins stay pinned and readable. When ${id} has retired, it is
      empty and cannot join again.</p>
    <p>First set <code>node</code> to the other one for the clusters of ${id}, and restart all nodes.</p>
    <${Choice} label="Node that takes the content" value=${to} onInput=${setTo} options=${targets} />
  </${ConfirmDialog}>`
}

export function ForgetNodeDialog({ node: { id, records }, onClose, onDone }: NodeDialogProps) {
  const { client } = useSession()
  const [typed, setTyped] = useState('')
  const [isReplaced, setReplaced] = useState(false)
  return html`<${ConfirmDialog} title=${`Forget ${id}?`} label="Forget it" onClose=${onClose} onDone=${onDone}
    said=${`${id} is being forgotten`} isReady=${typed === id} act=${() => client.owner.forgetNode(id, { isReplaced })}>
    <p>Only for a node whose disk is gone. Other nodes take over its ${plural(records, 'pin')}. Content that they, the
      network or another system have is fetched again. Pins of other content become failed.
      ${/* feature: webhooks */ ' Webhooks tell their users.'}
    </p>
    <p>This cannot be undone. If the disk is found again, it can join <kbd>--as-new</kbd> and give its content back.</p>
    <${InputField} label=${`Type ${id} to confirm`} value=${typed} onInput=${setTyped}
      input=${{ required: true, autocomplete: 'off', autocapitalize: 'off', spellcheck: false }} />
    <label class="check">
      <input type="checkbox" checked=${isReplaced} onChange=${() => setReplaced(!isReplaced)} />
      <span>A new, empty directory will run as ${id}, with the same clusters</span>
    </label>
  </${ConfirmDialog}>`
}
