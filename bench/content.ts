import { randomFillSync } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Work } from './contest.ts'
import { type FormPart, MultipartForm } from './multipart-form.ts'
import { slices } from './slices.ts'

/** A form stored in a file, for load clients that are programs. */
export interface FormFile {
  path: string
  contentType: string
}

export interface TreeFile {
  /** With `/` between segments. */
  path: string
  bytes: Uint8Array
}

export abstract class FormContent implements Work {
  #file: Promise<FormFile> | null = null

  /** A single file has no path. */
  abstract readonly files: readonly TreeFile[]
  abstract parts(): FormPart[]
  protected abstract renew(): void

  refill(): void {
    this.renew()
    this.#file = null
  }

  /** Writes the form to a file at the first call for each content, so that all subjects get the same bytes. */
  formFile(path: string): Promise<FormFile> {
    this.#file ??= writeForm(new MultipartForm(this.parts()), path)
    return this.#file
  }
}

async function writeForm(form: MultipartForm, path: string): Promise<FormFile> {
  const handle = await open(path, 'w')
  try {
    await handle.writeFile(form.chunks())
  } finally {
    await handle.close()
  }
  return { path, contentType: form.contentType }
}

export class FileContent extends FormContent {
  readonly bytes: Buffer
  readonly files: readonly TreeFile[]

  constructor(size: number) {
    super()
    this.bytes = Buffer.allocUnsafe(size)
    this.files = [{ path: '', bytes: this.bytes }]
  }

  parts(): FormPart[] {
    return [{ name: 'file', filename: 'bench.bin', content: this.bytes }]
  }

  protected renew(): void {
    randomFillSync(this.bytes)
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* slices(this.bytes)
  }
}

/** A tree of small files of random bytes, a hundred in each folder. */
export class TreeContent extends FormContent {
  readonly files: readonly TreeFile[]
  readonly #bytes: Buffer

  constructor(fileCount: number, fileBytes: number) {
    super()
    const bytes = Buffer.allocUnsafe(fileCount * fileBytes)
    this.#bytes = bytes
    this.files = Array.from({ length: fileCount }, (_, index) => ({
      path: `folder-${Math.floor(index / 100)}/file-${index % 100}.bin`,
      bytes: bytes.subarray(index * fileBytes, (index + 1) * fileBytes),
    }))
  }

  parts(): FormPart[] {
    return this.files.map(({ path, bytes }) => ({ name: 'files[]', filename: path, content: bytes }))
  }

  protected renew(): void {
    randomFillSync(this.#bytes)
  }
}
