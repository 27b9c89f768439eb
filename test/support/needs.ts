import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test was not run; the end of a run lists it. */
    notRun?: string
  }
}

/**
 * Options of a test or a suite that is run only where something is there: `needs(canTrace, 'there is no strace')`. Every
 * test that is not run says why in this way.
 */
export function needs(isThere: boolean, notRun: string): TestOptions {
  return isThere ? {} : { skip: true, meta: { notRun } }
}

/** For tests of Linux alone: of /proc, and of all of 127.0.0.0/8 on loopback without being told. */
export const needsLinux: TestOptions = needs(process.platform === 'linux', 'this is not Linux')

/** For tests of permissions and signals as POSIX has them. */
export const needsPosix: TestOptions = needs(process.platform !== 'win32', 'this is Windows')
