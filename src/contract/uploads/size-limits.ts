import { type ErrorCode, HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { contentLength } from '../../http/counted-body.ts'

const KiB = 1024

/** Bytes allowed for boundaries, part headers and text fields of a form, in addition to the content. */
const FILE_OVERHEAD = 64 * KiB
/** Additional bytes allowed for each file of a directory form, because paths can be long. */
const ENTRY_OVERHEAD = 5 * KiB
const MOST_ENTRIES = 100_000

/**
 * Returns the number of bytes that a form with up to `files` files may have in addition to the content.
 *
 * @param files maximum number of files; null for no limit
 */
export function formOverhead(files: number | null): number {
  return FILE_OVERHEAD + ENTRY_OVERHEAD * Math.min(files ?? MOST_ENTRIES, MOST_ENTRIES)
}

/**
 * Checks the `Content-Length` of a form before the body is read, and throws if the length exceeds the limit plus the
 * overhead. A smaller excess is detected during the upload. Returns the length in bytes, or undefined if the request
 * has no `Content-Length`.
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
