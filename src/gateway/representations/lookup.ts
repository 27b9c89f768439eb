import type { ApiRequest } from '../../http/api-messages.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from '../source/request-blocks.ts'
import type { Resolved } from '../source/resolver.ts'

/** A request whose path has been resolved: what every kind of answer is made from. */
export interface Lookup extends Resolved {
  request: ApiRequest
  path: ContentPath
  query: URLSearchParams
  blocks: RequestBlocks
  /** Whether the origin that a browser sees is the gateway's or the content's own, with nothing else in it. */
  hasOwnOrigin: boolean
  /** Milliseconds since the epoch. */
  now: number
}
