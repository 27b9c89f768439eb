import { useState } from 'preact/hooks'
import { shownText, uriOfText } from '../../../../src/domain/byte-text.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { Pager } from '../widgets/pager.ts'
import { shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useLoad } from '../widgets/use-load.ts'

const ROWS = 25

export function PinFiles({ cid, url }: { cid: string; url: string }) {
  const { client } = useSession()
  const [page, setPage] = useState(1)
  const { value, error } = useLoad(
    signal => client.pins.page(page, { parentCid: cid, limit: ROWS, signal }),
    [client, cid, page],
  )
  const address = (path: string): string => `${url}/${path.split('/').map(uriOfText).join('/')}`
  return html`<section class="card" aria-labelledby="files-title">
    <h2 id="files-title">Files ${value && html`<span class="count">${shownCount(value.total)}</span>`}</h2>
    <${FieldProblem} text=${error} />
    <div class="list"><table>
      <thead><tr><th scope="col">Path</th><th scope="col" class="number">Size</th></tr></thead>
      <tbody>${value?.uploads.map(
        ({ path, cid, size }) => html`<tr key=${path}>
          <td class="name"><a href=${address(path ?? cid)} target="_blank" rel="noopener">${shownText(path ?? cid)}</a></td>
          <td class="number">${shownBytes(size)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${value && html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage} />`}
  </section>`
}
