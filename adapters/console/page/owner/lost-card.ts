import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { LostRecord } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { shownBytes } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
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
  const accountOf = useAccountNames()
  const rows = value?.rows ?? []
  if (rows.length === 0 && pages.after === undefined && error === null) return null
  return html`<${Card} title="Lost content" error=${error}>
    <p>Pins whose content was lost with a node. A pin leaves the list when its content is complete again.</p>
    ${table(rows, null, ({ uploadId }) => uploadId, [
      ['Pin', nameOf, 'name'],
      ['Account', ({ account }) => accountOf(account)],
      [
        'State',
        ({ status, reason }) =>
          html`<span class=${`badge ${status}`}>${status}</span>${reason !== null && html`<span class="under">${reason}</span>`}`,
      ],
      ['Node', ({ node }) => node],
    ])}
    <div class="buttons">${pages.buttons(value?.next)}</div>
  </${Card}>`
}

function nameOf({ cid, name, size }: LostRecord) {
  const code = html`<code>${cid}</code>`
  return html`${name === null ? code : visibleText(name)}<span class="under">${name !== null && html`${code}, `}${shownBytes(size)}</span>`
}
