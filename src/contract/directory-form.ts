import { HoldfastError } from '../domain/errors.ts'
import { type FormPart, quoted, readForm, readPartText } from '../http/multipart.ts'
import type { ApiRequest } from '../http/types.ts'
import type { DirectoryEntry } from '../pins/types.ts'
import { FormFields } from './form-fields.ts'

const MAX_PATH_BYTES = 4 * 1024
const INDEXED = /^files\[(\d{1,9})\]\[(path|content)\]$/

/**
 * The form of a directory upload, in any of the shapes that clients send:
 *
 * - `files` or `files[]`, repeated: a file part whose file name is its path;
 * - `files[i][path]` with `files[i][content]`: paired by index, in either order. Each may come as a text field or as
 *   a file part, whatever file name that has.
 */
export class DirectoryForm {
  readonly fields = new FormFields(['cl', 'timelock', 'dirName'])
  readonly #parts: AsyncGenerator<FormPart, void, undefined>
  readonly #paths = new Map<number, string>()
  readonly #contents = new Set<number>()
  /** A part read ahead of its turn. */
  #ahead: FormPart | undefined

  constructor(request: ApiRequest) {
    this.#parts = readForm(request)
  }

  /** The files in the order of the form. The text fields are complete once it has ended. */
  async *entries(): AsyncGenerator<DirectoryEntry, void, undefined> {
    try {
      for (let part = await this.#next(); part !== undefined; part = await this.#next()) {
        const entry = await this.#entry(part)
        if (entry !== undefined) yield entry
      }
      for (const index of this.#paths.keys()) {
        if (!this.#contents.has(index)) throw missing(index, 'content')
      }
    } finally {
      await this.#parts.return()
    }
  }

  async #entry(part: FormPart): Promise<DirectoryEntry | undefined> {
    if (part.name === 'files' || part.name === 'files[]') {
      if (part.filename === undefined) {
        throw new HoldfastError('VALIDATION', `${part.name} must be a file part whose file name is the file's path`)
      }
      return { kind: 'file', path: part.filename, content: part.content }
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
    this.#paths.set(index, await readPartText(part, MAX_PATH_BYTES))
  }

  #content(index: number, part: FormPart): DirectoryEntry {
    if (this.#contents.has(index)) throw twice(part)
    this.#contents.add(index)
    const known = this.#paths.get(index)
    if (known !== undefined) return { kind: 'file', path: known, content: part.content }
    const path = (): string => {
      const later = this.#paths.get(index)
      if (later === undefined) throw missing(index, 'path')
      return later
    }
    return { kind: 'file', path, content: this.#thenPath(index, part) }
  }

  /** Content whose path has not come yet: it usually stands right behind, so that is looked at before the end. */
  async *#thenPath(index: number, part: FormPart): AsyncGenerator<Uint8Array, void, undefined> {
    yield* part.content
    const next = await this.#next()
    if (next?.name === `files[${index}][path]`) await this.#path(index, next)
    else this.#ahead = next
  }

  async #next(): Promise<FormPart | undefined> {
    const ahead = this.#ahead
    this.#ahead = undefined
    if (ahead !== undefined) return ahead
    const next = await this.#parts.next()
    return next.done === true ? undefined : next.value
  }
}

function twice(part: FormPart): HoldfastError {
  return new HoldfastError('VALIDATION', `${quoted(part.name)} is sent twice`)
}

function missing(index: number, half: 'path' | 'content'): HoldfastError {
  return new HoldfastError('VALIDATION', `files[${index}][${half}] is missing`)
}
