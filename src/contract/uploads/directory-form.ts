import { directoryMemory } from '../../content/unixfs/held-memory.ts'
import { textOfUnicode } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { quoted } from '../../http/form-headers.ts'
import { type FormPart, type FormRequest, readForm, readPartText } from '../../http/multipart.ts'
import type { DirectoryEntry } from '../../pins/upload-types.ts'
import { FormFields } from '../form-fields.ts'

const MAX_PATH_BYTES = 4 * 1024
/** Memory of an indexed part, and of a file whose path follows its content. Both stay until the form ends. */
const PART_BYTES = 64
const UNNAMED_BYTES = 384
const INDEXED = /^files\[(\d{1,9})\]\[(path|content)\]$/

/**
 * Reads the form of a directory upload. Clients send the files in one of two formats:
 *
 * - Repeated parts `files` or `files[]`. The file name of each part is the path of the file, or of a directory if the
 *   type of the part is `application/x-directory`.
 * - Pairs of parts `files[i][path]` and `files[i][content]` with the same index, in either order. Each part may be a
 *   text field or a file part with any file name.
 */
export class DirectoryForm {
  readonly fields = new FormFields(['cl', 'timelock', 'meta', 'visibility', 'dirName'])
  readonly #parts: AsyncGenerator<FormPart, void, undefined>
  readonly #paths = new Map<number, string>()
  readonly #contents = new Set<number>()
  readonly #memory = directoryMemory.part()

  constructor(request: FormRequest) {
    this.#parts = readForm(request)
  }

  /** Yields the files in the order of the form. The text fields are complete after the last file. */
  async *entries(): AsyncGenerator<DirectoryEntry, void, undefined> {
    try {
      for await (const part of this.#parts) {
        const entry = await this.#entry(part)
        if (entry !== undefined) yield entry
      }
      for (const index of this.#paths.keys()) {
        if (!this.#contents.has(index)) throw missing(index, 'content')
      }
    } finally {
      this.#memory.free()
    }
  }

  async #entry(part: FormPart): Promise<DirectoryEntry | undefined> {
    if (part.name === 'files' || part.name === 'files[]') {
      if (part.filename === undefined) {
        throw new HoldfastError('VALIDATION', `${part.name} must be a file part whose file name is the file's path`)
      }
      const { filename: path, attributes, content } = part
      if (!part.isDirectory) return { kind: 'file', path, content, ...attributes }
      await readPartText(part, 0)
      return { kind: 'directory', path, ...attributes }
    }
    const [, digits, half] = INDEXED.exec(part.name) ?? []
    if (digits === undefined) {
      await this.fields.take(part)
      return undefined
    }
    const index = Number(digits)
    if (half === 'content') return this.#content(index, part)
    await this.#path(index, part)
    return undefined
  }

  async #path(index: number, part: FormPart): Promise<void> {
    if (this.#paths.has(index)) throw twice(part)
    const path = await readPartText(part, MAX_PATH_BYTES)
    this.#memory.take(PART_BYTES + path.length)
    this.#paths.set(index, textOfUnicode(path))
  }

  #content(index: number, part: FormPart): DirectoryEntry {
    if (this.#contents.has(index)) throw twice(part)
    this.#memory.take(this.#paths.has(index) ? PART_BYTES : UNNAMED_BYTES)
    this.#contents.add(index)
    const path = (): string => {
      const known = this.#paths.get(index)
      if (known === undefined) throw missing(index, 'path')
      return known
    }
    return { kind: 'file', path: this.#paths.get(index) ?? path, content: part.content }
  }
}

function twice(part: FormPart): HoldfastError {
  return new HoldfastError('VALIDATION', `${quoted(part.name)} is sent twice`)
}

function missing(index: number, half: 'path' | 'content'): HoldfastError {
  return new HoldfastError('VALIDATION', `files[${index}][${half}] is missing`)
}
