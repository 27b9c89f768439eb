import type { PinLimits } from '../../catalogue/records.ts'
import { overStorage } from '../../catalogue/rules/plan-limits.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'

/** A reservation grows by at least this size, unless the free quota is smaller. */
const STEP_BYTES = 1024 ** 2
/**
 * `Content-Length` includes the multipart form. Without this allowance, a file of exactly the maximum size would be
 * refused.
 */
const FORM_OVERHEAD_BYTES = 64 * 1024

/** Bytes of the running uploads of an account. */
interface RunningUploads {
  count: number
  reserved: number
  /** Quota bytes of new blocks of uploads that ended while others ran. */
  written: number
}

/** Bytes that running uploads have reserved. Without reservations, parallel uploads could together exceed the quota. */
export class StorageReservations {
  readonly #accounts = new Map<string, RunningUploads>()

  /** Call this before the stored bytes of the account are read. The caller ends the reservation. */
  begin(accountId: string): StorageReservation {
    const uploads = this.#accounts.get(accountId) ?? { count: 0, reserved: 0, written: 0 }
    this.#accounts.set(accountId, uploads)
    return new StorageReservation(uploads, () => this.#accounts.delete(accountId))
  }
}

/** Bytes that one upload has reserved. */
export class StorageReservation {
  readonly #uploads: RunningUploads
  readonly #isLast: () => void
  readonly #writtenBefore: number
  #bytes = 0

  constructor(uploads: RunningUploads, isLast: () => void) {
    this.#uploads = uploads
    this.#isLast = isLast
    this.#writtenBefore = uploads.written
    uploads.count++
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Bytes that all running uploads of the account have reserved. */
  get ofAll(): number {
    return this.#uploads.reserved
  }

  /** Bytes of new blocks of the uploads that have ended since this one began. */
  get writtenSince(): number {
    return this.#uploads.written - this.#writtenBefore
  }

  add(bytes: number): void {
    this.#bytes += bytes
    this.#uploads.reserved += bytes
  }

  giveBack(): void {
    this.add(-this.#bytes)
  }

  /** @param written quota bytes of the new blocks of this upload */
  end(written: number): void {
    this.giveBack()
    this.#uploads.written += written
    this.#uploads.count--
    if (this.#uploads.count === 0) this.#isLast()
  }
}

interface UploadBudgetParts {
  plan: Plan & PinLimits
  storedBytes: number
  reservation: StorageReservation
  isDirectory: boolean
  /** Returns true during a backup, which may begin after the upload. */
  isHeld: () => boolean
}

/**
 * Limits of one upload. Checks each piece against the size limits (413), then against the quota (403).
 */
export class UploadBudget {
  readonly #options: UploadBudgetParts
  #total = 0
  #file = 0
  #files = 0
  #directories = 0

  constructor(options: UploadBudgetParts) {
    this.#options = options
  }

  get total(): number {
    return this.#total
  }

  /** @throws HoldfastError `FILE_TOO_LARGE` if the announced length exceeds the limit */
  expect(bytes: number | undefined): void {
    // The form of a directory grows with the number of files. Its length does not show the size of the content.
    if (bytes === undefined || this.#options.isDirectory) return
    const content = bytes - FORM_OVERHEAD_BYTES
    this.#checkSize(content, content)
  }

  /** @throws HoldfastError `DIRECTORY_TOO_LARGE` */
  startFile(): void {
    this.#file = 0
    this.#files++
    if (this.#options.isDirectory) this.#checkEntries(this.#files, 'files')
  }

  /**
   * Counts a directory that the upload names. Directories need no files, so the number of files does not bound them.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE`
   */
  startDirectory(): void {
    this.#directories++
    this.#checkEntries(this.#directories, 'directories')
  }

  /** @throws HoldfastError `FILE_TOO_LARGE`, `DIRECTORY_TOO_LARGE` */
  take(bytes: number): void {
    this.#file += bytes
    this.#total += bytes
    this.#checkSize(this.#file, this.#total)
  }

  /**
   * Reserves quota for new blocks. Blocks already on this node cost nothing, which lets a repeated upload succeed near
   * the quota. The commit checks the exact size.
   * @throws HoldfastError `QUOTA_EXCEEDED`
   */
  reserve(newBytes: number): void {
    const { reservation } = this.#options
    const missing = newBytes - reservation.bytes
    if (missing <= 0) return
    const step = this.#room() >= STEP_BYTES ? Math.max(STEP_BYTES, missing) : missing
    this.#checkQuota(step)
    reservation.add(step)
  }

  counting(staged: { readonly newCharge: number }, onProgress?: (bytes: number) => void): (length: number) => void {
    return length => {
      this.take(length)
      // While deletion is stopped, even a refused upload stays on the disk. So the bytes count before they are stored.
      this.reserve(this.#isStopped ? Math.max(this.#total, staged.newCharge) : staged.newCharge)
      onProgress?.(this.#total)
    }
  }

  /** Gives the reservation back before the commit, which checks the quota itself. */
  giveBack(): void {
    // A refused commit leaves the bytes on the disk, so other uploads must not take their place.
    if (!this.#isStopped) this.#options.reservation.giveBack()
  }

  /** True while a backup or a set-back stops deletion. */
  get #isStopped(): boolean {
    return this.#options.plan.undeletedBytes !== undefined || this.#options.isHeld()
  }

  #checkEntries(count: number, kind: 'files' | 'directories'): void {
    const { maxDirectoryFiles } = this.#options.plan
    if (maxDirectoryFiles !== null && count > maxDirectoryFiles) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows ${maxDirectoryFiles} ${kind} in a directory`)
    }
  }

  #room(): number {
    const { plan, storedBytes, reservation } = this.#options
    if (plan.maxStorageBytes === null) return Number.POSITIVE_INFINITY
    // While deletion is stopped, all that other uploads have written since the start of this one is still on the disk.
    const written = this.#isStopped ? reservation.writtenSince : 0
    return plan.maxStorageBytes - storedBytes - reservation.ofAll - written
  }

  #checkSize(file: number, total: number): void {
    const { maxFileBytes, maxDirectoryBytes } = this.#options.plan
    if (maxFileBytes !== null && file > maxFileBytes) {
      throw new HoldfastError('FILE_TOO_LARGE', `the plan allows files of ${maxFileBytes} bytes`)
    }
    if (this.#options.isDirectory && maxDirectoryBytes !== null && total > maxDirectoryBytes) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows directories of ${maxDirectoryBytes} bytes`)
    }
  }

  #checkQuota(more: number): void {
    if (more > this.#room()) {
      throw new HoldfastError('QUOTA_EXCEEDED', overStorage(this.#options.plan))
    }
  }
}
