import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Enough Tabs to pass every element of a page. */
const MOST_TABS = 120
/** Name of the focused element, and why a user would not see its focus. */
const FOCUS = `(() => {
  const one = document.activeElement
  const label = one.labels?.[0]?.textContent
  const name = (one.getAttribute('aria-label') ?? label ?? one.textContent).replace(/\\s+/g, ' ').trim()
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

  /** Presses Tab until the element with this name has the focus. Fails if a user would not see a focus on the way. */
  async reach(name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
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
