import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** Directory for screenshots of the console. Without it, tests take none. */
const DIRECTORY = process.env.SCREENSHOTS
const WIDTHS = [1440, 390]
const SCHEMES = ['light', 'dark'] as const

/** Takes screenshots of a state of the page, for two widths, light and dark. Restores the size of the page. */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  if (DIRECTORY === undefined) return
  mkdirSync(DIRECTORY, { recursive: true })
  const before = page.viewportSize()
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: join(DIRECTORY, `${name}-${width}-${colorScheme}.png`), fullPage: true })
    }
  }
  if (before !== null) await page.setViewportSize(before)
}
