import type { PortAnswers } from '../concurrency/port-calls.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import type { EngineParts, ThreadParts } from './gateway-feature.ts'
import { withRouter } from './routing/delegated-router.ts' // feature: routing
import { ownPeerOf } from './routing/own-peer.ts' // feature: routing

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
