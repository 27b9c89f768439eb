import { useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload, Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'
import { InputField } from '../widgets/field.ts'
import { formatInstant, instantIn, localInput } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { useNow } from '../widgets/use-now.ts'

const MONTH_MS = 30 * 86_400_000

/** Shows all records of a content, which stays until its last record expires. */
export function PinRecords({
  status,
  records,
  onChanged,
}: {
  status: Status
  records: readonly ListedUpload[]
  onChanged: () => void
}) {
  const { client, user } = useSession()
  const now = useNow()
  const [ends, setEnds] = useState('')
  const { cid, clusterId, name } = status
  const keep = async (): Promise<void> => {
    await client.pins.add(cid, { cluster: clusterId, timelock: instantIn(ends), name: name === cid ? undefined : name })
    setEnds('')
  }
  const month = html`<button type="button" class="plain" onClick=${() => setEnds(localInput(new Date(now + MONTH_MS)))}>In a month</button>`
  const soonest = localInput(new Date(now))
  return html`<${Card} title="Expiry">
    ${table(records, null, ({ uploadId }) => uploadId, [
      ['Record', ({ name }) => visibleText(name), 'name'],
      ['Cluster', ({ clusterId }) => html`<code>${clusterId}</code>`],
      ['Made', ({ createdAt }) => formatInstant(createdAt), 'age'],
      ['Ends', ({ expiresAt }) => (expiresAt === null ? 'when deleted' : formatInstant(expiresAt)), 'age'],
    ])}
    ${
      user.planDetails.timelock &&
      html`<${Form} kind="inline" label="Keep" tone="" act=${keep} said="Kept until then" onDone=${onChanged} before=${month}>
        <${InputField} label="Keep it until" type="datetime-local" value=${ends} onInput=${setEnds}
          input=${{ required: true, min: soonest }}
          hint="Adds a record with this expiry. The content stays until its last record expires." />
      </${Form}>`
    }
  </${Card}>`
}
