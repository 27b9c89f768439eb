import { join } from 'node:path'
import { type ProviderProcess, withProviderProcess } from '../../support/provider-process.ts'

const PROGRAM = join(import.meta.dirname, 'provider-main.ts')

/** Runs a process that serves the blocks of `someBlocks`; at most `hangsAfter` of them, if given. */
export function withProvider<T>(
  { count, size, seed = 'blocks', hangsAfter }: { count: number; size: number; seed?: string; hangsAfter?: number },
  use: (provider: ProviderProcess) => Promise<T>,
): Promise<T> {
  return withProviderProcess(PROGRAM, [count, size, seed, hangsAfter ?? ''], use)
}
