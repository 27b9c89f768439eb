import type { PinState } from '../../../client/index.ts'
import { html } from '../markup.ts'

const WORDS: Readonly<Record<PinState, string>> = {
  queued: 'Queued',
  pinning: 'Pinning',
  pinned: 'Pinned',
  failed: 'Failed',
}

/** Marks a record whose content only its account may read. */
export function PrivateBadge() {
  return html`<span class="badge"><svg class="lock" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 7V5a4 4 0 0 1 8 0v2h1v8H3V7Zm2 0h4V5a2 2 0 0 0-4 0Z"/></svg> Private</span>`
}

export function StateBadge({ state }: { state: PinState }) {
  return html`<span class=${`badge ${state}`}>${WORDS[state] ?? state}</span>`
}
