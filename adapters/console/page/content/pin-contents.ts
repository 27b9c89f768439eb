import type { Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { useLoad } from '../widgets/use-load.ts'
import { FolderTree } from './folder-tree.ts'
import { contentAt, gatewayHead } from './gateway-content.ts'
import { PinFiles } from './pin-files.ts'
import { Preview } from './preview.ts'

/** Shows what a pin contains. Without a gateway on its own origin, only the files of an uploaded folder. */
export function PinContents({ status, url }: { status: Status; url: string }) {
  const { gateway } = useSession()
  const { cid, type } = status
  if (gateway !== null) return html`<${OnGateway} status=${status} url=${url} gateway=${gateway} />`
  return type === 'directory' ? html`<${PinFiles} cid=${cid} url=${url} />` : null
}

function OnGateway({ status, url, gateway }: { status: Status; url: string; gateway: string }) {
  const { cid, name, type } = status
  const filed = contentAt(gateway, cid, [], name === cid ? {} : { filename: name })
  const { value, error } = useLoad(signal => gatewayHead(filed, signal), [filed])
  // A gateway may refuse content that the account can list.
  if (error !== null && type === 'directory') return html`<${PinFiles} cid=${cid} url=${url} />`
  if (value?.isFolder) return html`<${FolderTree} gateway=${gateway} cid=${cid} />`
  return html`<${Card} title="Preview">
    ${value === undefined && error === null ? html`<p class="quiet" role="status">Loading…</p>` : html`<${Preview} url=${filed} name=${name} />`}
  </${Card}>`
}
