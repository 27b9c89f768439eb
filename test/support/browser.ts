import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { needs } from './needs.ts'

/** Where Debian and others put it. Nothing is installed for this. */
const executable = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(path => path !== undefined && existsSync(path))

/** For suites that need a browser. */
export const inBrowser = needs(executable !== undefined, 'there is no Chromium, and CHROMIUM names none')

/** A Chromium without a window. The caller closes it. */
export function launchBrowser(): Promise<Browser> {
  // As root, in containers above all, Chromium starts only without its sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  // It finds files by the names that the locale can spell.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' }
  return chromium.launch({ env, executablePath: executable ?? '', args })
}
