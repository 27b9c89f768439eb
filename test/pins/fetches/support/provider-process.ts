import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { withTempDir } from '../../../support/temp-dir.ts'

export interface ProviderProcess {
  address: string
  /** Ends it as a crash would. */
  kill(): Promise<void>
}

/** What a provider serves: the blocks of `randomFile`, no more than `most` of them. */
interface Served {
  count: number
  size: number
  seed: string
  most?: number
}

/** Runs another process that serves blocks, and ends it at the latest when `use` has ended. */
export function withProviderProcess<T>(served: Served, use: (provider: ProviderProcess) => Promise<T>): Promise<T> {
  return withTempDir(dir => runProvider(dir, served, use))
}

async function runProvider<T>(
  dir: string,
  { count, size, seed, most }: Served,
  use: (provider: ProviderProcess) => Promise<T>,
): Promise<T> {
  const args = [dir, count, size, seed, most ?? ''].map(String)
  const child = spawn(process.execPath, [join(import.meta.dirname, 'provider-main.ts'), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
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
    return await use({ address, kill })
  } finally {
    await kill()
  }
}
