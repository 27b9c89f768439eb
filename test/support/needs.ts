import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test was skipped. The end of a run lists it. */
    notRun?: string
  }
}

/** Returns options that skip a test unless a condition holds: `needs(canTrace, 'there is no strace')`. */
export function needs(isThere: boolean, notRun: string): TestOptions {
  return isThere ? {} : { skip: true, meta: { notRun } }
}

/** Skips tests that need `/proc`, or every address of 127.0.0.0/8 without configuration. */
export const needsLinux: TestOptions = needs(process.platform === 'linux', 'this is not Linux')

/** Skips tests that need POSIX permissions and signals. */
export const needsPosix: TestOptions = needs(process.platform !== 'win32', 'this is Windows')
