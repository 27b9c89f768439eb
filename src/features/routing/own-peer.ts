import type { Clock } from '../../domain/clock.ts'
import { httpAddressOf } from '../../network/http-address.ts'
import type { EngineParts } from '../gateway-feature.ts'
import type { OwnPeer } from './peer-record.ts'

/** Addresses rarely change, so a thread asks the engine at most this often. */
const ASK_EVERY_MS = 1_000

/**
 * Returns a function that returns what this node tells about itself, and null if nobody could reach it. Only a node with
 * a public URL of its gateway needs a peer id while its network is off.
 */
export async function ownPeerOf(parts: EngineParts): Promise<() => OwnPeer | null> {
  const { options, network, datastore, loadIdentity } = parts
  const http = httpAddressOf(options.publicUrl)
  if (!options.routing) return () => null
  if (network !== null) return () => ({ peerId: network.peerId, bitswap: network.announced(), http })
  if (http === null) return () => null
  const peerId = await (await loadIdentity()).peerIdOf(datastore)
  return () => ({ peerId, bitswap: null, http })
}

/** Returns a function that asks at most once a second. */
export function remembered(ask: () => Promise<OwnPeer | null>, clock: Clock): () => Promise<OwnPeer | null> {
  let last: { at: number; own: Promise<OwnPeer | null> } | null = null
  return () => {
    if (last !== null && clock.now() - last.at < ASK_EVERY_MS) return last.own
    const asked = { at: clock.now(), own: ask() }
    last = asked
    asked.own.catch(() => {
      if (last === asked) last = null
    })
    return asked.own
  }
}
