import { useState } from 'preact/hooks'
import { shownText } from '../../../../src/domain/byte-text.ts'
import { pendingText } from '../../../../src/domain/pending-nodes.ts'
import type { Takedown } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Choice, FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { formatAge, formatInstant } from '../widgets/shown-values.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'

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
    <section class="card" aria-labelledby="takedowns-title">
      <h2 id="takedowns-title">Taken down</h2>
      <${FieldProblem} text=${error} />
      ${value?.rows.length === 0 && html`<p class="empty">No takedowns.</p>`}
      ${value !== undefined && value.rows.length > 0 && html`<${Table} rows=${value.rows} onLift=${setLifted} />`}
      <div class="buttons">${pages.buttons(value?.next)}</div>
    </section>
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
  const { cid, path, reason } = takedown
  const act = async (): Promise<void> => {
    const { pending } = await client.owner.liftTakedown(takedown)
    notify({ text: `Unblocked. ${pendingText(pending)}`.trim() })
  }
  const done = (): void => {
    onClose()
    onDone()
  }
  return html`<${ConfirmDialog} title="Serve this content again?" label="Serve it again" onClose=${onClose} onDone=${done} act=${act}>
    <p>Everybody can read <code>${cid}${path && `/${shownText(path)}`}</code> again. It was taken down for: ${reason}</p>
  </${ConfirmDialog}>`
}

function Table({ rows, onLift }: { rows: readonly Takedown[]; onLift: (takedown: Takedown) => void }) {
  const now = useNow()
  return html`<div class="list"><table class="stacked">
    <thead><tr>
      <th scope="col">Content</th><th scope="col">Answered</th><th scope="col" class="age">Since</th>
      <th scope="col"><span class="unseen">Lift</span></th>
    </tr></thead>
    <tbody>${rows.map(takedown => {
      const { cid, path, status, reason, at } = takedown
      return html`<tr key=${`${cid}/${path}`}>
        <td class="name"><code>${cid}${path && `/${shownText(path)}`}</code><span class="under">${reason}</span></td>
        <td data-label="Answered">${status}</td>
        <td class="age" data-label="Since" title=${formatInstant(at)}>${formatAge(at, now)}</td>
        <td><button class="small" aria-label=${`Serve again ${cid}`} onClick=${() => onLift(takedown)}>Serve again</button></td>
      </tr>`
    })}</tbody>
  </table></div>`
}

function NewTakedown({ onDone }: { onDone: () => void }) {
  const { client } = useSession()
  const [cid, setCid] = useState('')
  const [path, setPath] = useState('')
  const [reason, setReason] = useState('')
  const [status, setStatus] = useState<string>('410')
  const { run, isBusy, error } = useAction()
  const submit = submitting(() =>
    run(async () => {
      const asked = { cid: cid.trim(), path: path.trim() || undefined, reason: reason.trim() }
      const { pending } = await client.owner.takeDown({
        cid: asked.cid,
        reason: asked.reason,
        status: status === '451' ? 451 : 410,
        ...(asked.path && { path: asked.path }),
      })
      for (const clear of [setCid, setPath, setReason]) clear('')
      notify({ text: pendingText(pending) || 'Taken down: the gateway refuses it' })
      onDone()
    }),
  )
  return html`<section class="card" aria-labelledby="new-takedown-title">
    <h2 id="new-takedown-title">Take content down</h2>
    <p>The gateway and peers no longer get it. Its pins stay as they are.</p>
    <form onSubmit=${submit}>
      <div class="two">
        <${InputField} label="CID" value=${cid} onInput=${setCid} input=${{ required: true, spellcheck: false, autocomplete: 'off' }} />
        <${InputField} label="Path below it" value=${path} onInput=${setPath} input=${{ spellcheck: false, autocomplete: 'off', placeholder: 'all of it' }} />
        <${InputField} label="Reason" value=${reason} onInput=${setReason} input=${{ required: true, maxlength: 1000 }} />
        <${Choice} label="Answered with" value=${status} onInput=${setStatus} options=${STATUSES} />
      </div>
      <${FieldProblem} text=${error} />
      <button class="danger" disabled=${isBusy}>Take down</button>
    </form>
  </section>`
}
