import type { ApiRequest } from '../../http/api-messages.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from '../source/request-blocks.ts'
import type { Resolved } from '../source/resolver.ts'

/** A request with its resolved path: the input of every kind of answer. */
export interface Lookup extends Resolved {
  request: ApiRequest
  path: ContentPath
  query: URLSearchParams
  blocks: RequestBlocks
  /** True if the browser's origin belongs to the gateway or this content alone. */
  hasOwnOrigin: boolean
  /** Milliseconds since the epoch. */
  now: number
}
