import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { accessibilityFaults } from './axe.ts'

/** Directory for screenshots of the console. Without it, tests take none. */
const DIRECTORY = process.env.SCREENSHOTS
const WIDTHS = DIRECTORY === undefined ? [1440, 390] : [1440, 1024, 390]
/** Widths at which only the layout is checked. */
const OTHER_WIDTHS = DIRECTORY === undefined ? [1024, 768] : [768]
const SCHEMES = ['light', 'dark'] as const
/** Parts that a user would have to scroll sideways. */
const TOO_WIDE = `[document.documentElement, ...document.querySelectorAll('.card, .list, dialog[open], [popover]:popover-open')]
  .filter(part => part.scrollWidth > part.clientWidth)
  .map(part => 'too wide: ' + part.tagName + '.' + part.className + ' by ' + (part.scrollWidth - part.clientWidth))`
/** Words that the page breaks between two letters. Texts of over 40 characters without a space must break somewhere. */
const BROKEN = `(() => {
  const found = new Set()
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  while (texts.nextNode()) {
    const { currentNode: text } = texts
    if (!text.parentElement.checkVisibility() || text.parentElement.closest('script, style, pre, option') !== null) continue
    for (const { 0: word, index } of text.data.matchAll(/(?<![\\p{L}\\p{N}])\\p{L}{2,20}(?![\\p{L}\\p{N}])/gu)) {
      const before = text.data.slice(0, index).match(/\\S*$/)[0]
      const behind = text.data.slice(index).match(/^\\S*/)[0]
      if (before.length + behind.length > 40) continue
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      const tops = [...range.getClientRects()].map(({ top }) => Math.round(top))
      if (new Set(tops).size > 1) found.add('broken word: ' + word)
    }
  }
  return [...found]
})()`
/** Dialogs that are not in the middle of the window. */
const OFF_CENTRE = `[...document.querySelectorAll('dialog[open]')]
  .map(shown => shown.getBoundingClientRect())
  .filter(({ top, bottom, left, right }) => Math.abs(top - innerHeight + bottom) > 1 || Math.abs(left - innerWidth + right) > 20)
  .map(() => 'a dialog off the centre')`
/** Buttons and messages without a space above. */
const TOUCHING = `[...document.querySelectorAll(':is(button, .buttons, form > .row, .problem, .remark):not(.menu *, .under *)')]
  .filter(part => part.checkVisibility() && part.previousElementSibling?.checkVisibility())
  .map(part => [part, part.getBoundingClientRect().top - part.previousElementSibling.getBoundingClientRect().bottom])
  .filter(([, gap]) => gap > -2 && gap < 4)
  .map(([part]) => 'touches the part above: ' + part.tagName + '.' + part.className + ' ' + part.textContent.slice(0, 20))`

/**
 * Checks a state of the page at two widths, light and dark: nothing violates axe-core or is wider than the page. Dialogs
 * are in its middle, no word is broken, and buttons and messages keep their distance. Checks the layout at two more widths. Takes screenshots, also at 1024, if
 * `SCREENSHOTS` names a directory. Restores the size of the page.
 *
 * @param isBusy true for a state of loading. All other states are complete before they are checked.
 */
export async function expectGoodLooks(page: Page, name: string, isBusy = false): Promise<void> {
  const before = page.viewportSize()
  const faults: string[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      if (!isBusy) await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      // A bar that stays in the window would cover other parts in the middle of the page.
      await page.evaluate('scrollTo(0, 0)')
      await untilWide(page, width)
      const state = `${name}-${width}-${colorScheme}`
      await takeScreenshot(page, state)
      const found = [...(await layoutFaults(page)), ...(await accessibilityFaults(page))]
      faults.push(...found.map(fault => `${state}: ${fault}`))
    }
  }
  for (const width of OTHER_WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    await untilWide(page, width)
    faults.push(...(await layoutFaults(page)).map(fault => `${name}-${width}: ${fault}`))
  }
  if (before !== null) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
  expect.soft(faults).toEqual([])
}

/** The browser applies a size later. The page then moves an open menu, before the callbacks of the next frame. */
async function untilWide(page: Page, width: number): Promise<void> {
  await page.evaluate(`new Promise(function wait(done) {
    requestAnimationFrame(() => (innerWidth === ${width} ? done() : wait(done)))
  })`)
}

/** Returns parts that are too wide or touch, dialogs off the centre and broken words. */
async function layoutFaults(page: Page): Promise<string[]> {
  return (await page.evaluate(`[...${TOO_WIDE}, ...${OFF_CENTRE}, ...${TOUCHING}, ...${BROKEN}]`)) as string[]
}

async function takeScreenshot(page: Page, state: string): Promise<void> {
  if (DIRECTORY === undefined) return
  mkdirSync(DIRECTORY, { recursive: true })
  // A dialog is in the middle of the window, not of the page.
  const fullPage = (await page.locator('dialog[open]').count()) === 0
  await page.screenshot({ path: join(DIRECTORY, `${state}.png`), fullPage })
}
