import { html } from '../markup.ts'
import { type Section, Sections } from '../widgets/sections.ts'
import { Accounts } from './accounts-view.ts'
import { Failures } from './failures-view.ts'
import { Overview } from './owner-overview.ts'
import { Peers } from './peers.ts'
import { Takedowns } from './takedowns-view.ts'

const SECTIONS: readonly [Section, ...Section[]] = [
  ['overview', 'Overview', Overview],
  ['accounts', 'Accounts', Accounts],
  ['network', 'Network', Peers],
  ['takedowns', 'Takedowns', Takedowns],
  ['failures', 'Failures', Failures],
]

/** The node, for its owner. */
export function OwnerView({ section }: { section: string | undefined }) {
  return html`<${Sections} place="owner" title="Node" sections=${SECTIONS} section=${section} />`
}
