import type { ComponentType } from 'preact'
import { html } from '../html.ts'
import { routeTo } from '../route.ts'
import { KeysSection } from './keys.ts'
import { Overview } from './overview.ts'
import { Security } from './security.ts'
import { UploadTokens } from './upload-tokens.ts'
import { Webhooks } from './webhooks.ts'

const SECTIONS: ReadonlyArray<[id: string, words: string, section: ComponentType]> = [
  ['overview', 'Overview', Overview],
  ['keys', 'API keys', KeysSection],
  ['upload-tokens', 'Upload tokens', UploadTokens],
  ['security', 'Security', Security],
  ['webhooks', 'Webhooks', Webhooks],
]

/** The account: what it may and has, and how one gets in. */
export function AccountView({ section = 'overview' }: { section: string | undefined }) {
  const [, , Section = Overview] = SECTIONS.find(([id]) => id === section) ?? []
  const links = SECTIONS.map(
    ([id, words]) =>
      html`<a href=${routeTo(['account', id])} aria-current=${id === section ? 'page' : undefined}>${words}</a>`,
  )
  return html`<div class="stack">
    <h1>Account</h1>
    <nav class="sections" aria-label="Account">${links}</nav>
    <${Section} />
  </div>`
}
