import { loadOrCreateSelfKey } from '@libp2p/config'
import type { Datastore } from 'interface-datastore'

/** Returns the peer id that this node has with its network on. The first call of a new node creates its key. */
export async function peerIdOf(datastore: Datastore): Promise<string> {
  return (await loadOrCreateSelfKey(datastore)).publicKey.toString()
}
