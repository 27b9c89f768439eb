import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns one `rule: selector` for each violation that axe-core finds in the displayed page. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Parts of the page that are still loading are marked busy.
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  const session = await page.context().newCDPSession(page)
  try {
    const run = `${source}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`
    // The debugger may run a script that the page's content security policy would block.
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
