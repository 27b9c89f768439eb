import { type ErrorCode, HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { contentLength } from '../../http/counted-body.ts'

const KiB = 1024

/** Number of bytes that boundaries, part headers and text fields may add to the content of a form. */
const FILE_OVERHEAD = 64 * KiB
/** Number of bytes that each file may add to a directory form, in addition to the content. Paths can be long. */
const ENTRY_OVERHEAD = 5 * KiB
const MOST_ENTRIES = 100_000

/**
 * Returns the maximum number of bytes in a form in addition to the content of the files.
 *
 * @param files maximum number of files; null for no limit
 */
export function formOverhead(files: number | null): number {
  return FILE_OVERHEAD + ENTRY_OVERHEAD * Math.min(files ?? MOST_ENTRIES, MOST_ENTRIES)
}

/**
 * Checks the `Content-Length` of a form before the body is read, and throws if the length exceeds the limit plus the
 * overhead. An excess smaller than the overhead is detected while the body is read. Returns the length in bytes, or
 * undefined if the request has no `Content-Length`.
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
