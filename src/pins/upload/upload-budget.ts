import type { PinLimits } from '../../catalogue/records.ts'
import { overStorage } from '../../catalogue/rules/storage-quota.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'

/** A reservation grows by at least this size, unless the free quota is smaller. */
const STEP_BYTES = 1024 ** 2
/**
 * `Content-Length` includes the multipart form. Without this allowance, a file of exactly the maximum size would be
 * refused.
 */
const FORM_OVERHEAD_BYTES = 64 * 1024

/** Bytes that running uploads have reserved. Without reservations, parallel uploads could together exceed the quota. */
export class StorageReservations {
  readonly #reserved = new Map<string, number>()

  reserved(accountId: string): number {
    return this.#reserved.get(accountId) ?? 0
  }

  add(accountId: string, bytes: number): void {
    const reserved = this.reserved(accountId) + bytes
    if (reserved <= 0) this.#reserved.delete(accountId)
    else this.#reserved.set(accountId, reserved)
  }
}

interface UploadBudgetParts {
  plan: Plan & PinLimits
  accountId: string
  storedBytes: number
  reservations: StorageReservations
  isDirectory: boolean
}

/**
 * Limits of one upload. Checks each piece against the size limits (413), then against the quota (403). Call {@link
 * release} after every upload.
 */
export class UploadBudget {
  readonly #options: UploadBudgetParts
  #total = 0
  #file = 0
  #files = 0
  #directories = 0
  #reserved = 0

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
    const missing = newBytes - this.#reserved
    if (missing <= 0) return
    const step = this.#room() >= STEP_BYTES ? Math.max(STEP_BYTES, missing) : missing
    this.#checkQuota(step)
    this.#reserved += step
    this.#options.reservations.add(this.#options.accountId, step)
  }

  counting(staged: { readonly newCharge: number }, onProgress?: (bytes: number) => void): (length: number) => void {
    return length => {
      this.take(length)
      // While deletion is stopped, even a refused upload stays on the disk. So the bytes count before they are stored.
      const isStopped = this.#options.plan.undeletedBytes !== undefined
      this.reserve(isStopped ? Math.max(this.#total, staged.newCharge) : staged.newCharge)
      onProgress?.(this.#total)
    }
  }

  release(): void {
    this.#options.reservations.add(this.#options.accountId, -this.#reserved)
    this.#reserved = 0
  }

  #checkEntries(count: number, kind: 'files' | 'directories'): void {
    const { maxDirectoryFiles } = this.#options.plan
    if (maxDirectoryFiles !== null && count > maxDirectoryFiles) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows ${maxDirectoryFiles} ${kind} in a directory`)
    }
  }

  #room(): number {
    const { maxStorageBytes } = this.#options.plan
    if (maxStorageBytes === null) return Number.POSITIVE_INFINITY
    return maxStorageBytes - this.#options.storedBytes - this.#options.reservations.reserved(this.#options.accountId)
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
