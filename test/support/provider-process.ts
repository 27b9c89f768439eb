import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { withTempDir } from './temp-dir.ts'

export interface ProviderProcess {
  address: string
  process: ChildProcess
  /** Kills the process, as a crash would. */
  kill(): Promise<void>
}

/** Runs a program that serves blocks and prints its address as the first line. Kills it when `use` has ended. */
export function withProviderProcess<T>(
  program: string,
  args: ReadonlyArray<string | number>,
  use: (provider: ProviderProcess) => Promise<T>,
): Promise<T> {
  return withTempDir(async dir => {
    const child = spawn(process.execPath, [program, dir, ...args.map(String)], { stdio: ['pipe', 'pipe', 'inherit'] })
    const exited = once(child, 'exit')
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL')
      await exited
    }
    try {
      const [address] = (await Promise.race([
        once(createInterface({ input: child.stdout }), 'line'),
        exited.then(([code]) => Promise.reject(new Error(`the provider ended with ${code}`))),
      ])) as [string]
      return await use({ address, process: child, kill })
    } finally {
      await kill()
    }
  })
}
