import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Enough Tabs to pass every element of a page. */
const MOST_TABS = 120
/** Returns the name of an element as users know it. Runs in the page. */
const NAME_OF = `one => (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent).replace(/\\s+/g, ' ').trim()`
/** Names of the elements that Tab may reach now. */
const REACHABLE = `(() => {
  const inside = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document
  return [...inside.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter(one => !one.disabled && one.checkVisibility()).map(${NAME_OF})
})()`
/** Name of the focused element, and why a user would not see its focus. */
const FOCUS = `(() => {
  const one = document.activeElement
  const name = (${NAME_OF})(one)
  const { top, bottom, left, right } = one.getBoundingClientRect()
  const { outlineStyle, outlineWidth } = getComputedStyle(one)
  const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
  const isClear = at === one || one.contains(at) || at?.contains(one) === true || one.labels?.[0]?.contains(at) === true
  const hidden = [
    ['has no outline', outlineStyle === 'none' || outlineWidth === '0px'],
    ['is outside of the window', bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth],
    ['is covered by ' + at?.outerHTML.slice(0, 80), !isClear],
  ].filter(([, isSo]) => isSo).map(([why]) => why)
  return { name, hidden }
})()`

interface Focus {
  name: string
  hidden: string[]
}

/** Uses a page by its keyboard alone. */
export class Keyboard {
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  /**
   * Waits for an element with this name, and presses Tab until it has the focus. Fails if a user would not see its focus.
   */
  async reach(name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await expect.poll(() => this.#page.evaluate(REACHABLE), { message: `reaches “${name}”` }).toContain(name)
    const seen: string[] = []
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      const focus = (await this.#page.evaluate(FOCUS)) as Focus
      if (focus.name === name) return expect([name, focus.hidden]).toEqual([name, []])
      seen.push(focus.name.slice(0, 40))
      await this.#page.keyboard.press(key)
    }
    expect.fail(`no Tab leads to “${name}”, only to ${[...new Set(seen)].join(' | ')}`)
  }

  /** Reaches an element and presses keys on it. */
  async use(name: string, ...keys: string[]): Promise<void> {
    await this.reach(name)
    await this.press(...(keys.length === 0 ? ['Enter'] : keys))
  }

  /** Replaces the text of a field. */
  async fill(name: string, text: string): Promise<void> {
    await this.use(name, 'ControlOrMeta+a')
    await this.#page.keyboard.type(text)
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.#page.keyboard.press(key)
  }
}
