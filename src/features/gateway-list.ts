import type { PortAnswers } from '../concurrency/port-calls.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import { type RouterParts, withRouter } from './routing/delegated-router.ts' // feature: routing
import { type OwnPeerParts, ownPeerOf } from './routing/own-peer.ts' // feature: routing

/** Parts of a thread for features at a gateway. */
export type ThreadParts = RouterParts
/** Parts of the engine for features at a gateway. */
export type EngineParts = OwnPeerParts

/** Returns a gateway's own origin with what features add to it, in the engine and in each thread that reads for it. */
export function withFeatures(gateway: ApiHandler, parts: ThreadParts): ApiHandler {
  let handler = gateway
  handler = withRouter(handler, parts) // feature: routing
  return handler
}

/** Returns the engine's answers to the questions that features ask in any thread. */
export async function featureAnswers(parts: EngineParts): Promise<PortAnswers> {
  return {
    'own peer': await ownPeerOf(parts), // feature: routing
  }
}
