import type { Scale } from '../bench.ts'
import { findProgram } from '../programs.ts'
import type { Call } from '../services/service.ts'
import { readWithCurl, sendWithCurl } from './curl.ts'
import { eachWithH2load } from './h2load.ts'
import type { Hammering, Load, Transfer } from './load.ts'
import { hammerWithNode, readWithNode, sendWithNode } from './node-client.ts'
import { hammerWithWrk } from './wrk.ts'

/** The load clients of a run: compiled programs if installed, else Node's. `tiny` runs always use Node's. */
export interface Clients {
  hammer(hammering: Hammering): Promise<Load>
  /** Makes each call exactly once. */
  each(calls: readonly Call[], connections: number): Promise<Load>
  /** Sends a file as a request body. Returns the client's name too. */
  send(to: Call, file: string, type: string): Promise<Transfer & { client: string }>
  read(from: Call): Promise<Transfer & { client: string }>
}

export function clientsFor(scale: Scale): Clients {
  const find = (name: 'wrk' | 'h2load' | 'curl') => (scale === 'tiny' ? null : findProgram(name))
  const [wrk, h2load, curl] = [find('wrk'), find('h2load'), find('curl')]
  return {
    hammer: hammering => (wrk === null ? hammerWithNode(hammering) : hammerWithWrk(wrk, hammering)),
    each: (calls, connections) =>
      h2load === null
        ? hammerWithNode({ calls, connections, count: calls.length, seconds: 0 })
        : eachWithH2load(h2load, calls, connections),
    send: async (to, file, type) =>
      curl === null
        ? { ...(await sendWithNode(to, file, type)), client: 'node' }
        : { ...(await sendWithCurl(curl, to, file, type)), client: 'curl' },
    read: async from =>
      curl === null
        ? { ...(await readWithNode(from)), client: 'node' }
        : { ...(await readWithCurl(curl, from)), client: 'curl' },
  }
}
