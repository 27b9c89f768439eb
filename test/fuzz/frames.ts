import { multiaddr } from '@multiformats/multiaddr'
import { createEngine } from '../../src/index.ts'
import { emptyMessage, encodeMessage } from '../../src/network/exchange/message.ts'
import { pseudoRandom } from '../support/bytes.ts'
import type { Draws } from '../support/draws.ts'
import { libp2pOf } from '../support/helia.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { KNOWN, mutated } from './requests.ts'

const PROTOCOL = '/ipfs/bitswap/1.2.0'

/** Sends messages of the exchange to a node, from a peer of its own: right ones with parts that are wrong. */
export function sendFrames(address: string, draws: Draws, count: number): Promise<void> {
  return withTempDir(async dataDir => {
    await using engine = await createEngine({ dataDir, network: { enabled: true } })
    const libp2p = await libp2pOf(engine)
    for (let i = 0; i < count; i++) {
      // A node shuts out who goes on sending nonsense; nothing more of this peer is heard then.
      const stream = await libp2p.dialProtocol(multiaddr(address), PROTOCOL).catch(() => null)
      if (stream === null) return
      try {
        stream.send(frame(draws))
        await stream.close()
      } catch {
        stream.abort(new Error('the node has hung up'))
      }
    }
  })
}

function frame(draws: Draws): Buffer {
  const cids = KNOWN.blocks.map(block => block.cid.bytes)
  const message = {
    ...emptyMessage(),
    full: draws.below(2) === 0,
    wants: Array.from({ length: draws.below(5) }, () => ({
      cid: cids[draws.below(cids.length)] ?? pseudoRandom(36, draws.below(100)),
      cancel: draws.below(4) === 0,
      presence: draws.below(2) === 0,
      sendDontHave: draws.below(2) === 0,
    })),
    blocks: Array.from({ length: draws.below(3) }, () => ({
      prefix: pseudoRandom(draws.below(8), draws.below(100)),
      data: pseudoRandom(draws.below(500), draws.below(100)),
    })),
    presences: Array.from({ length: draws.below(3) }, () => ({
      cid: pseudoRandom(36, draws.below(100)),
      has: draws.below(2) === 0,
    })),
  }
  const whole = Buffer.concat(encodeMessage(message))
  return draws.below(3) === 0 ? whole : mutated(draws, whole)
}
