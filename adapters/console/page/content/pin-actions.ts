import { useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload, Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Dialog } from '../widgets/dialog.ts'
import { InputField } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { plural } from '../widgets/shown-values.ts'

interface PinDialogProps {
  pin: Pick<ListedUpload, 'cid' | 'name' | 'uploadId'>
  onClose: () => void
  onDone: () => void
}

export function RenameButton({ status, onDone }: { status: Status; onDone: () => void }) {
  const [isAsked, setAsked] = useState(false)
  const done = (): void => {
    setAsked(false)
    onDone()
  }
  return html`<span>
    <button onClick=${() => setAsked(true)}>Rename</button>
    ${isAsked && html`<${RenameDialog} pin=${status} onClose=${() => setAsked(false)} onDone=${done} />`}
  </span>`
}

export function RenameDialog({ pin: { uploadId, name: before, cid }, onClose, onDone }: PinDialogProps) {
  const { client } = useSession()
  const [name, setName] = useState(before === cid ? '' : before)
  return html`<${Dialog} title="Rename" onClose=${onClose}>
    <${Form} label="Rename" act=${() => client.pins.rename(uploadId, name)} said="Renamed" onDone=${onDone}>
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ required: true, maxlength: 255 }} />
    </${Form}>
  </${Dialog}>`
}

/** Asks before a record becomes public, or private if it is public. */
export function VisibilityDialog({ pin, onClose, onDone }: Omit<PinDialogProps, 'pin'> & { pin: ListedUpload }) {
  const { client } = useSession()
  const { uploadId, name, clusterId, visibility } = pin
  const wanted = visibility === 'private' ? 'public' : 'private'
  const act = async (): Promise<void> => {
    const { pending = 0 } = await client.pins.setVisibility(uploadId, wanted, { cluster: clusterId })
    const slow = pending > 0 ? `: ${plural(pending, 'server')} may still serve it` : ''
    notify({ text: `${visibleText(name)} is now ${wanted}${slow}` })
  }
  return html`<${ConfirmDialog} title=${`Make ${visibleText(name)} ${wanted}?`} label=${`Make it ${wanted}`}
    onClose=${onClose} onDone=${onDone} act=${act}>
    <p>${
      wanted === 'public'
        ? 'Anyone with its CID can then read it.'
        : 'Then only this account can read it. Copies that others have made cannot be recalled.'
    }</p>
  </${ConfirmDialog}>`
}

/** Buttons that delete pins after a confirmation and return to the list. */
export function DeleteButton({ status }: { status: Status }) {
  const { clusterId, peers } = status
  const [asked, setAsked] = useState<{ cluster?: string } | null>(null)
  const done = (): void => {
    location.hash = '#/content'
  }
  const button = (target: { cluster?: string }, words: string) =>
    html`<button class="danger" onClick=${() => setAsked(target)}>${words}</button>`
  return html`<span class="buttons">
    ${
      peers.length <= 1
        ? button({}, 'Delete')
        : html`${button({ cluster: clusterId }, `Delete from ${clusterId}`)} ${button({}, 'Delete everywhere')}`
    }
    ${asked !== null && html`<${DeleteDialog} pin=${status} cluster=${asked.cluster} onClose=${() => setAsked(null)} onDone=${done} />`}
  </span>`
}

/** @param props.cluster deletes from this cluster only, if given */
export function DeleteDialog({ pin, cluster, onClose, onDone }: PinDialogProps & { cluster: string | undefined }) {
  const { deleteContent } = useSession()
  const { cid, name } = pin
  return html`<${ConfirmDialog} title=${`Delete ${visibleText(name)}?`} label="Delete it" onClose=${onClose}
    said=${`${visibleText(name)} is deleted`} onDone=${onDone} act=${() => deleteContent(cid, cluster)}>
    <p>All records of this content ${
      cluster === undefined ? 'in all clusters' : html`in <code>${cluster}</code>`
    } are deleted.
    ${/* feature: bulk */ ' The node keeps the content until the undo period ends.'}
    </p>
  </${ConfirmDialog}>`
}
