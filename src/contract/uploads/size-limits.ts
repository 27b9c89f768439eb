import { type ErrorCode, HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { contentLength } from '../../http/counted-body.ts'

const KiB = 1024

/** Allowance for boundaries, part headers and text fields of a form with one file. */
const FILE_OVERHEAD = 64 * KiB
/** Allowance per file of a directory form, whose paths may be long. */
const ENTRY_OVERHEAD = 5 * KiB
const MOST_ENTRIES = 100_000

/** Returns the allowance for the form around the content of at most `files` files. */
export function formOverhead(files: number | null): number {
  return FILE_OVERHEAD + ENTRY_OVERHEAD * Math.min(files ?? MOST_ENTRIES, MOST_ENTRIES)
}

/**
 * Refuses a form whose announced length exceeds the limit plus its allowance, before the body is read. A smaller excess
 * is detected during the upload. Returns the announced length; undefined without one.
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
