import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useLoad } from '../widgets/use-load.ts'

/** Says that no peer is connected. Shows nothing if one is. */
export function NoPeers() {
  const { client } = useSession()
  const { value } = useLoad(signal => client.request<{ count: number }>('GET', '/peers', { signal }), [client])
  if (value === undefined || value.count > 0) return null
  return html`<p class="remark">
    No peer is connected to this node. It pins only content that it already has, or that a provider you name has.
  </p>`
}
