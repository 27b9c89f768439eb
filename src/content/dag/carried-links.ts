import type { CID } from 'multiformats/cid'
import { isHoldfastError } from '../../domain/errors.ts'
import { CODEC, cidOf, dagKey, HASH } from '../../ipld/cid.ts'
import { hasLinks, linksOf } from './links.ts'

const CODECS_WITH_LINKS = [CODEC.dagPb, CODEC.dagCbor, CODEC.dagJson]

/**
 * Returns the multihashes of the blocks that an identity multihash links to, directly or through other identity CIDs.
 * Tries every codec with links, because a multihash contains no codec.
 */
export function carriedLinks(multihash: Uint8Array): Uint8Array[] {
  if (multihash[0] !== HASH.identity) return []
  const blocks = new Map<string, Uint8Array>()
  const stack = CODECS_WITH_LINKS.map(codec => cidOf({ codec, multihash }))
  for (let carrier = stack.pop(); carrier !== undefined; carrier = stack.pop()) {
    for (const link of linksIn(carrier)) {
      if (link.multihash.code !== HASH.identity) blocks.set(dagKey(link), link.multihash.bytes)
      else if (hasLinks(link)) stack.push(link)
    }
  }
  return [...blocks.values()]
}

function linksIn(carrier: CID): CID[] {
  try {
    return [...linksOf(carrier, carrier.multihash.digest)]
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_CID')) return []
    throw error
  }
}
