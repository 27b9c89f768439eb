import { useLayoutEffect, useState } from 'preact/hooks'
import { html } from '../markup.ts'

export interface Notice {
  text: string
  isError?: boolean
}

type Shown = Notice & { id: number }

/** Time in ms after which a notice disappears. */
const STAY_MS = 5_000

let shown: readonly Shown[] = []
let lastId = 0
const listeners = new Set<() => void>()

export function notify(notice: Notice): void {
  const id = ++lastId
  show([...shown, { ...notice, id }])
  setTimeout(() => show(shown.filter(one => one.id !== id)), STAY_MS)
}

function show(notices: readonly Shown[]): void {
  shown = notices
  for (const listener of listeners) listener()
}

/** Shows the notices, which screen readers read out. */
export function Notices() {
  const [, draw] = useState(0)
  useLayoutEffect(() => {
    const listener = (): void => draw(turn => turn + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return html`<div class="notices" role="status" aria-live="polite">
    ${shown.map(
      notice => html`<p key=${notice.id} class=${notice.isError ? 'notice error' : 'notice'}>
        <span>${notice.text}</span>
      </p>`,
    )}
  </div>`
}
