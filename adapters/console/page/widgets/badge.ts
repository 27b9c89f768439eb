import type { PinState } from '../../../client/index.ts'
import { html } from '../markup.ts'

const WORDS: Readonly<Record<PinState, string>> = {
  queued: 'Queued',
  pinning: 'Pinning',
  pinned: 'Pinned',
  failed: 'Failed',
}

/** Badge that shows the status of a pin as a word and a colour. */
export function StateBadge({ state }: { state: PinState }) {
  return html`<span class=${`badge ${state}`}>${WORDS[state] ?? state}</span>`
}
