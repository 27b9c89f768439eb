import { shownText } from '../../../../src/domain/byte-text.ts'
import type { LostRecord } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { FieldProblem } from '../widgets/field.ts'
import { shownBytes } from '../widgets/shown-values.ts'
import { useAccountNames } from './account-names.ts'
import { useWatch } from './use-watch.ts'

const ROWS = 20

/** Lists the pins whose content was lost with a node, by account. Renders nothing if there are none. */
export function LostCard() {
  const { client } = useSession()
  const pages = useAfterPages()
  const { value, error } = useWatch(
    signal => client.owner.lostRecords({ limit: ROWS, signal, ...(pages.after && { after: pages.after }) }),
    [client, pages.after],
  )
  const nameOf = useAccountNames()
  const rows = value?.rows ?? []
  if (rows.length === 0 && pages.after === undefined && error === null) return null
  return html`<section class="card" aria-labelledby="lost-title">
    <h2 id="lost-title">Lost content</h2>
    <p>Pins whose content was lost with a node. A pin leaves the list when its content is complete again.</p>
    <${FieldProblem} text=${error} />
    <div class="list"><table class="stacked">
      <thead><tr>
        <th scope="col">Pin</th><th scope="col">Account</th><th scope="col">State</th><th scope="col">Node</th>
      </tr></thead>
      <tbody>${rows.map(row => html`<${Row} key=${row.uploadId} row=${row} account=${nameOf(row.account)} />`)}</tbody>
    </table></div>
    <div class="buttons">${pages.buttons(value?.next)}</div>
  </section>`
}

function Row({ row: { cid, name, size, status, reason, node }, account }: { row: LostRecord; account: string }) {
  return html`<tr>
    <td class="name">${name === null ? html`<code>${cid}</code>` : shownText(name)}<span class="under">${name !== null && html`<code>${cid}</code>, `}${shownBytes(size)}</span></td>
    <td data-label="Account">${account}</td>
    <td data-label="State"><div><span class=${`badge ${status}`}>${status}</span>${reason !== null && html`<span class="under">${reason}</span>`}</div></td>
    <td data-label="Node">${node}</td>
  </tr>`
}
