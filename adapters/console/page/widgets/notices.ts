import { useEffect, useState } from 'preact/hooks'
import { html } from '../markup.ts'

export interface Notice {
  text: string
  /** Button in the notice, such as undo. */
  action?: { label: string; run: () => void }
  /** Time after which the notice disappears. Default: 5,000. */
  ms?: number
  isError?: boolean
}

type Shown = Notice & { id: number }

const STAY_MS = 5_000

let shown: readonly Shown[] = []
let lastId = 0
const listeners = new Set<() => void>()

/** Returns a function that hides the notice. */
export function notify(notice: Notice): () => void {
  const id = ++lastId
  const remove = (): void => show(shown.filter(one => one.id !== id))
  show([...shown, { ...notice, id }])
  setTimeout(remove, notice.ms ?? STAY_MS)
  return remove
}

function show(notices: readonly Shown[]): void {
  shown = notices
  for (const listener of listeners) listener()
}

/** Shows the notices, which screen readers read out. */
export function Notices() {
  const [, draw] = useState(0)
  useEffect(() => {
    const listener = (): void => draw(turn => turn + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  const act = (notice: Shown) => (): void => {
    show(shown.filter(one => one !== notice))
    notice.action?.run()
  }
  return html`<div class="notices" role="status" aria-live="polite">
    ${shown.map(
      notice => html`<p key=${notice.id} class=${notice.isError ? 'notice error' : 'notice'}>
        <span>${notice.text}</span>
        ${notice.action && html`<button class="plain" onClick=${act(notice)}>${notice.action.label}</button>`}
      </p>`,
    )}
  </div>`
}
