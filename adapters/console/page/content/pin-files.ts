import { useState } from 'preact/hooks'
import { shownText, uriOfText } from '../../../../src/domain/byte-text.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { Pager } from '../widgets/pager.ts'
import { shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useLoad } from '../widgets/use-load.ts'

const ROWS = 25

interface FilesProps {
  cid: string
  /** Null if no gateway serves the content. */
  url: string | null
  /** Called with the path of a file that the user wants. */
  onFile?: (path: string) => void
}

export function PinFiles({ cid, url, onFile }: FilesProps) {
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
          <td class="name">${
            url === null
              ? html`<button class="plain" onClick=${() => onFile?.(path ?? '')}>${shownText(path ?? cid)}</button>`
              : html`<a href=${address(path ?? cid)} target="_blank" rel="noopener">${shownText(path ?? cid)}</a>`
          }</td>
          <td class="number">${shownBytes(size)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${value && html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage} />`}
  </section>`
}
