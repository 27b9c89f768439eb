import { HoldfastError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'

/** Minimum by which a reservation grows. */
const STEP_BYTES = 1024 ** 2
/**
 * Allowance for the form around a file. Without it, a file of exactly the limit would be refused by its
 * `Content-Length`.
 */
const FORM_OVERHEAD_BYTES = 64 * 1024

/** Bytes reserved by running uploads, by account. Without them, parallel uploads could exceed the quota together. */
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

/**
 * Limits of one upload. Each piece is checked against the size limits (413) before the quota (403). {@link release}
 * must follow every upload.
 */
export class UploadBudget {
  readonly #plan: Plan
  readonly #accountId: string
  readonly #storedBytes: number
  readonly #reservations: StorageReservations
  readonly #isDirectory: boolean
  #total = 0
  #file = 0
  #files = 0
  #reserved = 0

  constructor(options: {
    plan: Plan
    accountId: string
    /** Bytes that the account stores already. */
    storedBytes: number
    reservations: StorageReservations
    isDirectory: boolean
  }) {
    this.#plan = options.plan
    this.#accountId = options.accountId
    this.#storedBytes = options.storedBytes
    this.#reservations = options.reservations
    this.#isDirectory = options.isDirectory
  }

  /** Content bytes so far. */
  get total(): number {
    return this.#total
  }

  /**
   * Refuses an upload by its announced length.
   *
   * @throws HoldfastError `FILE_TOO_LARGE`
   */
  expect(bytes: number | undefined): void {
    // The form of a directory grows with its files, so its length says little.
    if (bytes === undefined || this.#isDirectory) return
    const content = bytes - FORM_OVERHEAD_BYTES
    this.#checkSize(content, content)
  }

  /** @throws HoldfastError `DIRECTORY_TOO_LARGE` */
  startFile(): void {
    this.#file = 0
    this.#files++
    const { maxDirectoryFiles } = this.#plan
    if (this.#isDirectory && maxDirectoryFiles !== null && this.#files > maxDirectoryFiles) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows ${maxDirectoryFiles} files in a directory`)
    }
  }

  /** Counts content bytes. @throws HoldfastError `FILE_TOO_LARGE`, `DIRECTORY_TOO_LARGE` */
  take(bytes: number): void {
    this.#file += bytes
    this.#total += bytes
    this.#checkSize(this.#file, this.#total)
  }

  /**
   * Reserves quota for the new blocks of an upload. Blocks that this node already has are not counted, so an upload can
   * be repeated near the quota. The commit decides with the exact size.
   *
   * @throws HoldfastError `QUOTA_EXCEEDED`
   */
  reserve(newBytes: number): void {
    const missing = newBytes - this.#reserved
    if (missing <= 0) return
    // Near the limit, reserve only what is needed.
    const step = this.#room() >= STEP_BYTES ? Math.max(STEP_BYTES, missing) : missing
    this.#checkQuota(step)
    this.#reserved += step
    this.#reservations.add(this.#accountId, step)
  }

  /**
   * Returns a callback that counts each piece of content.
   *
   * @param staged the DAG that the pieces are added to
   * @param onProgress called with the content bytes so far
   */
  counting(staged: { readonly newCharge: number }, onProgress?: (bytes: number) => void): (length: number) => void {
    return length => {
      this.take(length)
      this.reserve(staged.newCharge)
      onProgress?.(this.#total)
    }
  }

  release(): void {
    this.#reservations.add(this.#accountId, -this.#reserved)
    this.#reserved = 0
  }

  #room(): number {
    const { maxStorageBytes } = this.#plan
    if (maxStorageBytes === null) return Number.POSITIVE_INFINITY
    return maxStorageBytes - this.#storedBytes - this.#reservations.reserved(this.#accountId)
  }

  #checkSize(file: number, total: number): void {
    const { maxFileBytes, maxDirectoryBytes } = this.#plan
    if (maxFileBytes !== null && file > maxFileBytes) {
      throw new HoldfastError('FILE_TOO_LARGE', `the plan allows files of ${maxFileBytes} bytes`)
    }
    if (this.#isDirectory && maxDirectoryBytes !== null && total > maxDirectoryBytes) {
      throw new HoldfastError('DIRECTORY_TOO_LARGE', `the plan allows directories of ${maxDirectoryBytes} bytes`)
    }
  }

  #checkQuota(more: number): void {
    if (more > this.#room()) {
      throw new HoldfastError('QUOTA_EXCEEDED', `the plan allows ${this.#plan.maxStorageBytes} bytes of storage`)
    }
  }
}
