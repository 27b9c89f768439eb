import { useLayoutEffect } from 'preact/hooks'
import { PinListView } from '../content/pin-list-view.ts'
import { html } from '../markup.ts'
import { useAccountNames } from './account-names.ts'

/** The pins of one account, private ones too. The owner sees their names and sizes, and opens public content only. */
export function AccountPins({ id }: { id: string }) {
  const nameOf = useAccountNames()
  // The link to this view had the focus, and is gone.
  useLayoutEffect(() => document.getElementById('main')?.focus({ preventScroll: true }), [])
  return html`<div class="stack">
    <nav aria-label="Way back"><a href="#/owner/accounts">‹ All accounts</a></nav>
    <${PinListView} of=${{ id, email: nameOf(id) }} />
  </div>`
}
