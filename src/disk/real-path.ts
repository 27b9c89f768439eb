import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Returns the real path of the part of `path` that exists, followed by the missing part unchanged. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realPathOf(parent), path.slice(parent.length))
  }
}
