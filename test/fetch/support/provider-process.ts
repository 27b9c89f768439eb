import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface ProviderProcess {
  address: string
  /** Ends it as a crash would. */
  kill(): Promise<void>
}

/** Runs another process that serves the blocks of `randomFile`, no more than `most` of them. */
export async function withProviderProcess<T>(
  { count, size, seed, most }: { count: number; size: number; seed: string; most?: number },
  use: (provider: ProviderProcess) => Promise<T>,
): Promise<T> {
  const args = [count, size, seed, most ?? ''].map(String)
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
