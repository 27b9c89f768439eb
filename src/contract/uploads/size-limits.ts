import { type ErrorCode, HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { contentLength } from '../../http/counted-body.ts'

const KiB = 1024

/** Boundaries, part headers and text fields around one file. */
const FILE_OVERHEAD = 64 * KiB
/** The same for each file of a directory form, whose paths may be long. */
const ENTRY_OVERHEAD = 5 * KiB
const MOST_ENTRIES = 100_000

/** What the form around the content may take, for a form of at most `files` files. */
export function formOverhead(files: number | null): number {
  return FILE_OVERHEAD + ENTRY_OVERHEAD * Math.min(files ?? MOST_ENTRIES, MOST_ENTRIES)
}

/**
 * Refuses, before the body is read, a form that is over the limit whatever its overhead: a file of exactly the limit
 * passes here, and what is over by less is noticed while it streams. Returns the announced length of the body, or
 * undefined without one.
 */
export function checkAnnounced(
  request: ApiRequest,
  limit: { bytes: number | null; overhead: number; code: ErrorCode; what: string },
): number | undefined {
  const length = contentLength(request)
  if (length !== undefined && limit.bytes !== null && length - limit.overhead > limit.bytes) {
    throw new HoldfastError(limit.code, `${limit.what} is larger than the plan's limit of ${limit.bytes} bytes`)
  }
  return length
}
