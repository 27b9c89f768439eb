import { useLayoutEffect, useState } from 'preact/hooks'
import { html } from './markup.ts'
import { Dialog } from './widgets/dialog.ts'

interface Shortcut {
  /** Keys as typed, one after the other. */
  keys: string
  words: string
  act: () => void
}

const SHORTCUTS: readonly Shortcut[] = [
  { keys: 'gc', words: 'Go to the content', act: () => go('#/content') },
  { keys: 'ga', words: 'Go to the account', act: () => go('#/account') },
  { keys: 'gk', words: 'Go to the API keys', act: () => go('#/account/keys') },
  { keys: 'gn', words: 'Go to the node', act: () => go('#/owner') },
  { keys: '/', words: 'Search the pins', act: () => focusOn('search') },
  { keys: 'u', words: 'Go to the upload', act: goToUpload },
  { keys: 'j', words: 'Next pin', act: () => step(1) },
  { keys: 'k', words: 'Previous pin', act: () => step(-1) },
]
/** Time in ms after which a first key is forgotten. */
const PAUSE_MS = 1_500

/** Runs the action of typed keys, and shows all of them after a question mark. The user can turn the keys off. */
export function Shortcuts() {
  const [isShown, setShown] = useState(false)
  const [isOn, setOn] = useState(true)
  useLayoutEffect(() => {
    if (!isOn) return
    let typed = ''
    let last = 0
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      // A modal dialog has the keyboard to itself.
      if (document.querySelector('dialog[open]') !== null) return
      typed = event.timeStamp - last > PAUSE_MS ? event.key : typed + event.key
      last = event.timeStamp
      const found = SHORTCUTS.find(({ keys }) => typed.endsWith(keys))
      if (found === undefined && event.key !== '?') return
      event.preventDefault()
      typed = ''
      if (found === undefined) setShown(true)
      else found.act()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [isOn])
  return html`<div>
    <footer><button class="plain small" onClick=${() => setShown(true)}>Keyboard shortcuts</button></footer>
    ${
      isShown &&
      html`<${Dialog} title="Keyboard shortcuts" onClose=${() => setShown(false)}>
        <dl class="facts shortcuts">${[...SHORTCUTS, { keys: '?', words: 'Show this help' }].map(
          ({ keys, words }) => html`<dt>${[...keys].map(key => html`<kbd>${key}</kbd> `)}</dt><dd>${words}</dd>`,
        )}</dl>
        <label class="check">
          <input type="checkbox" checked=${isOn} onChange=${() => setOn(!isOn)} />
          <span>Use these keys in this tab</span>
        </label>
      </${Dialog}>`
    }
  </div>`
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input:not([type="checkbox"]), select, textarea')
}

function go(hash: string): void {
  location.hash = hash
}

function focusOn(id: string): void {
  const place = document.getElementById(id)
  if (place === null) go('#/content')
  else place.focus()
}

/** Unfolds the card that adds files. */
function goToUpload(): void {
  const choose = document.getElementById('choose-files')
  if (choose?.checkVisibility() === false) document.getElementById('add')?.click()
  // The card is drawn first.
  setTimeout(() => focusOn('choose-files'))
}

/** Moves the focus to the name of another pin in the list. */
function step(by: 1 | -1): void {
  const names = [...document.querySelectorAll<HTMLElement>('td.name > a')]
  const row = document.activeElement?.closest('tr')
  const at = names.findIndex(name => name.closest('tr') === row)
  names[at === -1 && by === -1 ? names.length - 1 : at + by]?.focus()
}
