import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { withTempDir } from '../../support/temp-dir.ts'

export interface Provider {
  address: string
  process: ChildProcess
  kill(): Promise<void>
}

export interface ProvidedBlocks {
  count: number
  size: number
  seed?: string
  hangsAfter?: number
}

/** Runs another process that serves the blocks of `someBlocks`; with `hangsAfter`, no more than that many. */
export function withProvider<T>(blocks: ProvidedBlocks, use: (provider: Provider) => Promise<T>): Promise<T> {
  return withTempDir(dir => runProvider(dir, blocks, use))
}

async function runProvider<T>(
  dir: string,
  blocks: ProvidedBlocks,
  use: (provider: Provider) => Promise<T>,
): Promise<T> {
  const args = [dir, blocks.count, blocks.size, blocks.seed ?? 'blocks', blocks.hangsAfter ?? ''].map(String)
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
    return await use({ address, process: child, kill })
  } finally {
    await kill()
  }
}
