import { useState } from 'preact/hooks'
import type { Webhook } from '../../../client/index.ts'
import { type Secret, SecretDialog } from '../account/secret-dialog.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { Dialog } from '../widgets/dialog.ts'
import { InputField } from '../widgets/field.ts'
import { formatInstant, plural, shownCount } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { useLoad } from '../widgets/use-load.ts'
import { Deliveries } from './deliveries.ts'

export function WebhooksView() {
  const { client } = useSession()
  const { value: webhooks, error, reload } = useLoad(signal => client.webhooks.list(signal), [client])
  const [url, setUrl] = useState('')
  const [secret, setSecret] = useState<Secret | null>(null)
  const [shown, setShown] = useState<Webhook | null>(null)
  const [removed, setRemoved] = useState<Webhook | null>(null)
  const add = async (): Promise<void> => {
    const { secret: text } = await client.webhooks.create(url.trim())
    setUrl('')
    setSecret({ title: 'The secret of the webhook', what: 'secret', text, hint: 'It signs the deliveries.' })
  }
  return html`<${Card} title="Webhooks" error=${error}>
    <p class="quiet">Each URL gets a POST for every pin that is created, changes its status or is removed.</p>
    <${Form} kind="inline" label="Add" act=${add} onDone=${reload}>
      <${InputField} label="Address" type="url" value=${url} onInput=${setUrl} input=${{ required: true, placeholder: 'https://' }} />
    </${Form}>
    ${table(webhooks, 'No webhooks yet.', ({ id }) => id, [
      [
        'Address',
        ({ url, createdAt, dropped }) =>
          html`${url}<span class="under">since ${formatInstant(createdAt)}${
            dropped > 0 && ` · ${plural(dropped, 'change was', 'changes were')} dropped, because too many waited`
          }</span>`,
        'name',
      ],
      ['Waiting', ({ waiting }) => shownCount(waiting)],
      [
        'Actions',
        webhook => html`<div class="buttons end">
            <button class="small" aria-label=${`Deliveries to ${webhook.url}`} onClick=${() => setShown(webhook)}>Deliveries</button>
            <button class="small danger" aria-label=${`Remove ${webhook.url}`} onClick=${() => setRemoved(webhook)}>Remove</button>
          </div>`,
        'actions',
      ],
    ])}
    ${removed && html`<${RemoveDialog} webhook=${removed} onClose=${() => setRemoved(null)} onDone=${reload} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${
      shown &&
      html`<${Dialog} title="Deliveries" onClose=${() => setShown(null)}><${Deliveries} of=${shown} /></${Dialog}>`
    }
  </${Card}>`
}

interface RemoveDialogProps {
  webhook: Webhook
  onClose: () => void
  onDone: () => void
}

function RemoveDialog({ webhook: { id, url, waiting }, onClose, onDone }: RemoveDialogProps) {
  const { client } = useSession()
  return html`<${ConfirmDialog} title="Remove this webhook?" label="Remove it" onClose=${onClose} onDone=${onDone}
    said=${`${url} is removed`} act=${() => client.webhooks.remove(id)}>
    <p><code>${url}</code> gets no more events${waiting > 0 && `, and ${plural(waiting, 'waiting event is', 'waiting events are')} dropped`}.
    A new webhook for the same address has another secret.</p>
  </${ConfirmDialog}>`
}
