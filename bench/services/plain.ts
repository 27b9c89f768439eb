import { fileURLToPath } from 'node:url'
import { ChildServer } from '../child-server.ts'
import type { Uploadable } from '../subjects/uploaders.ts'

const SCRIPT = fileURLToPath(new URL('../plain-server.ts', import.meta.url))

/** A bare server that hashes each body into one synced file: the minimum that any service must do. */
export const plain: Uploadable = {
  name: 'limit-http',
  async start(dir) {
    const server = await ChildServer.start(SCRIPT, [dir], process.env)
    return {
      pids: [server.pid],
      upload: () => ({ method: 'POST', url: `${server.url}/`, headers: {} }),
      isComparable: false,
      rootOf: () => '',
      stop: () => server.stop(),
    }
  },
}
