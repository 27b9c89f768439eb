import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import type { TestOptions } from 'vitest'
import { needs } from './needs.ts'

/** Path of an installed Chromium. The tests never install one. */
const executable = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(path => path !== undefined && existsSync(path))

/** Skips tests without a Chromium, which takes several times as long on a busy machine. */
export const inBrowser: TestOptions = {
  timeout: 240_000,
  ...needs(executable !== undefined, 'there is no Chromium, and CHROMIUM names none'),
}

/** Starts a headless Chromium. The caller closes it. */
export async function launchBrowser({ hasBackForwardCache = false } = {}): Promise<Browser> {
  // Chromium refuses to start its sandbox as root, the usual user in containers.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  // Chromium opens only files whose names the locale can encode.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' }
  const ignoreDefaultArgs = hasBackForwardCache ? ['--disable-back-forward-cache'] : []
  const browser = await chromium.launch({ env, executablePath: executable ?? '', args, ignoreDefaultArgs })
  // Less than the time of a test, so that the browser says what it waits for; more than a busy machine needs.
  browser.on('context', context => context.setDefaultTimeout(80_000))
  return browser
}
