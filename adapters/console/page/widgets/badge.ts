import type { PinState } from '../../../client/index.ts'
import { html } from '../markup.ts'

const WORDS: Readonly<Record<PinState, string>> = {
  queued: 'Queued',
  pinning: 'Pinning',
  pinned: 'Pinned',
  failed: 'Failed',
}

export function StateBadge({ state }: { state: PinState }) {
  return html`<span class=${`badge ${state}`}>${WORDS[state] ?? state}</span>`
}
