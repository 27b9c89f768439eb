import { join } from 'node:path'
import { type ProviderProcess, withProviderProcess } from '../../../support/provider-process.ts'

const PROGRAM = join(import.meta.dirname, 'provider-main.ts')

/** Starts a process that serves at most `most` blocks of `randomFile`. */
export function withFileProvider<T>(
  { count, size, seed, most }: { count: number; size: number; seed: string; most: number },
  use: (provider: ProviderProcess) => Promise<T>,
): Promise<T> {
  return withProviderProcess(PROGRAM, [count, size, seed, most], use)
}
