import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Checks touch targets as well, which axe-core does not by default. */
const RUN = `axe.run(document, {
  resultTypes: ['violations'],
  // An open menu, a dialog, a notice and the bar of a selection cover parts of other targets.
  rules: { 'target-size': { enabled: document.querySelector(':popover-open, dialog[open], .notice, .selection') === null } },
}).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`

/** Returns one `rule: selector` for each violation that axe-core finds in the displayed page. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  // The debugger may run a script that the page's content security policy would block.
  const run = async (expression: string): Promise<unknown> => {
    const options = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', options)
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value
  }
  try {
    if ((await run('typeof axe')) === 'undefined') await run(`${source}; 0`)
    return (await run(RUN)) as string[]
  } finally {
    await session.detach()
  }
}
