import type { ApiRequest } from '../../http/api-messages.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { RequestBlocks } from '../source/request-blocks.ts'
import type { Resolved } from '../source/resolver.ts'

export interface Lookup extends Resolved {
  request: ApiRequest
  path: ContentPath
  query: URLSearchParams
  blocks: RequestBlocks
  /** True if the URL's origin serves only the gateway or only this content. */
  hasOwnOrigin: boolean
  /** Time of the request in ms since the epoch. */
  now: number
}
