import { type ErrorCode, HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { contentLength } from '../../http/counted-body.ts'

const KiB = 1024

/** Bytes that boundaries, part headers and text fields may add to the content of a form. */
const FILE_OVERHEAD = 64 * KiB
/** Bytes that each file may add to a directory form. Paths can be long. */
const ENTRY_OVERHEAD = 5 * KiB
const MOST_ENTRIES = 100_000

/**
 * Returns the bytes that a form may have in addition to the content of its files.
 *
 * @param files maximum number of files; null for no limit
 */
export function formOverhead(files: number | null): number {
  return FILE_OVERHEAD + ENTRY_OVERHEAD * Math.min(files ?? MOST_ENTRIES, MOST_ENTRIES)
}

/**
 * Refuses a form whose `Content-Length` exceeds the limit plus the overhead. Returns the length in bytes, or undefined
 * if the header is missing.
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
