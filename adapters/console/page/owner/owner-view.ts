import type { ComponentType } from 'preact'
import { html } from '../html.ts'
import { routeTo } from '../route.ts'
import { Accounts } from './accounts.ts'
import { Failures } from './failures.ts'
import { Overview } from './overview.ts'
import { Peers } from './peers.ts'
import { Takedowns } from './takedowns.ts'

const SECTIONS: ReadonlyArray<[id: string, words: string, section: ComponentType]> = [
  ['overview', 'Overview', Overview],
  ['accounts', 'Accounts', Accounts],
  ['network', 'Network', Peers],
  ['takedowns', 'Takedowns', Takedowns],
  ['failures', 'Failures', Failures],
]

/** The node, for its owner. */
export function OwnerView({ section = 'overview' }: { section: string | undefined }) {
  const [, , Section = Overview] = SECTIONS.find(([id]) => id === section) ?? []
  const links = SECTIONS.map(
    ([id, words]) =>
      html`<a href=${routeTo(['owner', id])} aria-current=${id === section ? 'page' : undefined}>${words}</a>`,
  )
  return html`<div class="stack">
    <h1>Node</h1>
    <nav class="sections" aria-label="Node">${links}</nav>
    <${Section} />
  </div>`
}
