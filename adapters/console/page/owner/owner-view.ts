import { html } from '../markup.ts'
import { DeliveriesView } from '../webhooks/deliveries-view.ts' // feature: webhooks
import { type Section, Sections } from '../widgets/sections.ts'
import { AccountsView } from './accounts-view.ts'
import { AuditView } from './audit-view.ts' // feature: audit
import { ClustersView } from './clusters-view.ts'
import { FailuresView } from './failures-view.ts'
import { OwnerOverview } from './owner-overview.ts'
import { PeersView } from './peers.ts'
import { TakedownsView } from './takedowns-view.ts'
import { WorkView } from './work-view.ts'

const SECTIONS: readonly [Section, ...Section[]] = [
  ['overview', 'Overview', OwnerOverview],
  ['accounts', 'Accounts', AccountsView],
  ['work', 'Work', WorkView],
  ['webhooks', 'Webhooks', DeliveriesView], // feature: webhooks
  ['clusters', 'Clusters', ClustersView],
  ['network', 'Network', PeersView],
  ['takedowns', 'Takedowns', TakedownsView],
  ['failures', 'Failures', FailuresView],
  ['audit', 'Audit log', AuditView], // feature: audit
]

export function OwnerView({ section }: { section: string | undefined }) {
  return html`<${Sections} place="owner" title="Node" sections=${SECTIONS} section=${section} />`
}
