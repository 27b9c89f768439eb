import { html } from '../markup.ts'
import { type Section, Sections } from '../widgets/sections.ts'
import { AccountsView } from './accounts-view.ts'
import { FailuresView } from './failures-view.ts'
import { OwnerOverview } from './owner-overview.ts'
import { PeersView } from './peers.ts'
import { TakedownsView } from './takedowns-view.ts'

const SECTIONS: readonly [Section, ...Section[]] = [
  ['overview', 'Overview', OwnerOverview],
  ['accounts', 'Accounts', AccountsView],
  ['network', 'Network', PeersView],
  ['takedowns', 'Takedowns', TakedownsView],
  ['failures', 'Failures', FailuresView],
]

export function OwnerView({ section }: { section: string | undefined }) {
  return html`<${Sections} place="owner" title="Node" sections=${SECTIONS} section=${section} />`
}
