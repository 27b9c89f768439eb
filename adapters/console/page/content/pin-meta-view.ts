import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { FieldProblem, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { useAction } from '../widgets/use-load.ts'

type Row = readonly [key: string, value: string]

export function PinMeta({
  uploadId,
  meta,
  onDone,
}: {
  uploadId: string
  meta: Readonly<Record<string, string>>
  onDone: () => void
}) {
  const { client } = useSession()
  const [rows, setRows] = useState<readonly Row[]>(Object.entries(meta))
  const { run, isBusy, error } = useAction()
  const isChanged = JSON.stringify(rows) !== JSON.stringify(Object.entries(meta))
  const submit = submitting(async () => {
    const given = Object.fromEntries(rows.filter(([key]) => key.trim() !== ''))
    if (!(await run(() => client.pins.rename(uploadId, undefined, { meta: given })))) return
    setRows(Object.entries(given))
    notify({ text: 'Metadata saved' })
    onDone()
  })
  const change = (at: number, row: Row): void => setRows(rows.map((one, i) => (i === at ? row : one)))
  const input = (at: number, which: 0 | 1, label: string) => {
    const typed = (event: InputEvent & { currentTarget: HTMLInputElement }): void => {
      const [key, value] = rows[at] ?? ['', '']
      change(at, which === 0 ? [event.currentTarget.value, value] : [key, event.currentTarget.value])
    }
    return html`<input aria-label=${`${label} ${at + 1}`} placeholder=${label} value=${rows[at]?.[which]} onInput=${typed} />`
  }
  return html`<${Card} title="Metadata">
    <form onSubmit=${submit}>
      ${rows.length === 0 && html`<p class="quiet">No metadata.</p>`}
      ${rows.map(
        (_, at) => html`<div class="meta-row" key=${at}>
          ${input(at, 0, 'Key')} ${input(at, 1, 'Value')}
          <button type="button" class="plain" aria-label=${`Remove ${rows[at]?.[0] ?? ''}`}
            onClick=${() => setRows(rows.filter((_, i) => i !== at))}>✕</button>
        </div>`,
      )}
      <${FieldProblem} text=${error} />
      <div class="buttons">
        <button type="button" onClick=${() => setRows([...rows, ['', '']])}>Add a line</button>
        ${isChanged && html`<button class="primary" disabled=${isBusy}>Save</button>`}
      </div>
    </form>
  </${Card}>`
}
