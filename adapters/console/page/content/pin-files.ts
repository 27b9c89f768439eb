import { useState } from 'preact/hooks'
import { uriOfText, visibleText } from '../../../../src/domain/byte-text.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { Pager } from '../widgets/pager.ts'
import { shownBytes } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
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
  return html`<${Card} title="Files" count=${value?.total} error=${error}>
    ${table(value?.uploads, null, ({ path }) => path ?? '', [
      [
        'Path',
        ({ path, cid }) =>
          url === null
            ? html`<button class="plain" onClick=${() => onFile?.(path ?? '')}>${visibleText(path ?? cid)}</button>`
            : html`<a href=${address(path ?? cid)} target="_blank" rel="noopener">${visibleText(path ?? cid)}</a>`,
        'name',
      ],
      ['Size', ({ size }) => shownBytes(size), 'number'],
    ])}
    ${value && html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage} />`}
  </${Card}>`
}
