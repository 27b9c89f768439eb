import { html } from '../markup.ts'
import { WebhooksView } from '../webhooks/webhooks-view.ts' // feature: webhooks
import { type Section, Sections } from '../widgets/sections.ts'
import { AccountOverview } from './account-overview.ts'
import { KeysSection } from './keys-view.ts'
import { Security } from './security.ts'
import { UploadTokens } from './upload-tokens.ts'

const SECTIONS: readonly [Section, ...Section[]] = [
  ['overview', 'Overview', AccountOverview],
  ['keys', 'API keys', KeysSection],
  ['upload-tokens', 'Upload tokens', UploadTokens],
  ['security', 'Security', Security],
  ['webhooks', 'Webhooks', WebhooksView], // feature: webhooks
]

export function AccountView({ section }: { section: string | undefined }) {
  return html`<${Sections} place="account" title="Account" sections=${SECTIONS} section=${section} />`
}
