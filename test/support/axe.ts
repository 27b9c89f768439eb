import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe-core finds wrong with a page as it is shown now: rule and place of each. Run past the page's policy. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // What is asked for anew stands back until it has come.
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  const session = await page.context().newCDPSession(page)
  try {
    const run = `${source}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`
    // Given by the debugger, it needs no leave of the page.
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: run,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value as string[]
  } finally {
    await session.detach()
  }
}
