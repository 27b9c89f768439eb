import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'

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
  const isChanged = JSON.stringify(rows) !== JSON.stringify(Object.entries(meta))
  const save = async (): Promise<void> => {
    const given = Object.fromEntries(rows.filter(([key]) => key.trim() !== ''))
    await client.pins.rename(uploadId, undefined, { meta: given })
    setRows(Object.entries(given))
  }
  const change = (at: number, row: Row): void => setRows(rows.map((one, i) => (i === at ? row : one)))
  const input = (at: number, which: 0 | 1, label: string) => {
    const typed = (event: InputEvent & { currentTarget: HTMLInputElement }): void => {
      const [key, value] = rows[at] ?? ['', '']
      change(at, which === 0 ? [event.currentTarget.value, value] : [key, event.currentTarget.value])
    }
    return html`<input aria-label=${`${label} ${at + 1}`} placeholder=${label} value=${rows[at]?.[which]} onInput=${typed} />`
  }
  const more = html`<button type="button" onClick=${() => setRows([...rows, ['', '']])}>Add a line</button>`
  return html`<${Card} title="Metadata">
    <${Form} label="Save" isReady=${isChanged} act=${save} said="Metadata saved" onDone=${onDone} before=${more}>
      ${rows.length === 0 && html`<p class="quiet">No metadata.</p>`}
      ${rows.map(
        (_, at) => html`<div class="meta-row" key=${at}>
          ${input(at, 0, 'Key')} ${input(at, 1, 'Value')}
          <button type="button" class="plain" aria-label=${`Remove ${rows[at]?.[0] ?? ''}`}
            onClick=${() => setRows(rows.filter((_, i) => i !== at))}>✕</button>
        </div>`,
      )}
    </${Form}>
  </${Card}>`
}
