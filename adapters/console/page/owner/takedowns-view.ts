import { useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import { pendingText } from '../../../../src/domain/pending-nodes.ts'
import type { Takedown } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { Age, table } from '../widgets/table.ts'
import { useLoad } from '../widgets/use-load.ts'

const STATUSES = [
  ['410', '410 Gone'],
  ['451', '451 Unavailable for legal reasons'],
] as const

export function TakedownsView() {
  const { client } = useSession()
  const pages = useAfterPages()
  const { value, error, reload } = useLoad(
    signal => client.owner.takedowns({ after: pages.after, signal }),
    [client, pages.after],
  )
  const [lifted, setLifted] = useState<Takedown | null>(null)
  return html`<div class="stack">
    <${NewTakedown} onDone=${reload} />
    <${Card} title="Taken down" error=${error}>
      ${table(value?.rows, 'No takedowns.', ({ cid, path }) => `${cid}/${path}`, [
        [
          'Content',
          takedown => html`<code>${addressOf(takedown)}</code><span class="under">${takedown.reason}</span>`,
          'name',
        ],
        ['Answered', ({ status }) => status],
        ['Since', ({ at }) => html`<${Age} at=${at} />`, 'age'],
        [
          'Lift',
          takedown =>
            html`<button class="small" aria-label=${`Serve again ${takedown.cid}`} onClick=${() => setLifted(takedown)}>Serve again</button>`,
          'actions',
        ],
      ])}
      <div class="buttons">${pages.buttons(value?.next)}</div>
    </${Card}>
    ${lifted && html`<${LiftDialog} takedown=${lifted} onClose=${() => setLifted(null)} onDone=${reload} />`}
  </div>`
}

interface LiftDialogProps {
  takedown: Takedown
  onClose: () => void
  onDone: () => void
}

function LiftDialog({ takedown, onClose, onDone }: LiftDialogProps) {
  const { client } = useSession()
  const act = async (): Promise<void> => {
    const { pending } = await client.owner.liftTakedown(takedown)
    notify({ text: `Unblocked. ${pendingText(pending)}`.trim() })
  }
  return html`<${ConfirmDialog} title="Serve this content again?" label="Serve it again" onClose=${onClose} onDone=${onDone} act=${act}>
    <p>Everybody can read <code>${addressOf(takedown)}</code> again. It was taken down for: ${takedown.reason}</p>
  </${ConfirmDialog}>`
}

function addressOf({ cid, path }: Takedown): string {
  return cid + (path && `/${visibleText(path)}`)
}

function NewTakedown({ onDone }: { onDone: () => void }) {
  const { client } = useSession()
  const [cid, setCid] = useState('')
  const [path, setPath] = useState('')
  const [reason, setReason] = useState('')
  const [status, setStatus] = useState<string>('410')
  const takeDown = async (): Promise<void> => {
    const below = path.trim()
    const { pending } = await client.owner.takeDown({
      cid: cid.trim(),
      reason: reason.trim(),
      status: status === '451' ? 451 : 410,
      ...(below && { path: below }),
    })
    for (const clear of [setCid, setPath, setReason]) clear('')
    notify({ text: pendingText(pending) || 'Taken down: the gateway refuses it' })
  }
  return html`<${Card} title="Take content down">
    <p>The gateway and peers no longer get it. Its pins stay as they are.</p>
    <${Form} label="Take down" tone="danger" act=${takeDown} onDone=${onDone}>
      <div class="two">
        <${InputField} label="CID" value=${cid} onInput=${setCid} input=${{ required: true, spellcheck: false, autocomplete: 'off' }} />
        <${InputField} label="Path below it" value=${path} onInput=${setPath} input=${{ spellcheck: false, autocomplete: 'off', placeholder: 'all of it' }} />
        <${InputField} label="Reason" value=${reason} onInput=${setReason} input=${{ required: true, maxlength: 1000 }} />
        <${Choice} label="Answered with" value=${status} onInput=${setStatus} options=${STATUSES} />
      </div>
    </${Form}>
  </${Card}>`
}
