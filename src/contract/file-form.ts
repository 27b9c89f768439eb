import { HoldfastError } from '../domain/errors.ts'
import { type FormPart, readForm } from '../http/multipart.ts'
import type { ApiRequest } from '../http/types.ts'
import { FormFields } from './form-fields.ts'

/** The form of a single-file upload: one part `file`, with text fields before and after it. */
export class FileForm {
  readonly fields = new FormFields(['cl', 'timelock'])
  readonly #parts: AsyncGenerator<FormPart, void, undefined>

  constructor(request: ApiRequest) {
    this.#parts = readForm(request)
  }

  /** Reads up to the content of the file. Throws `VALIDATION` if the form has none. */
  async file(): Promise<FormPart> {
    const file = await this.#nextFile()
    if (file === undefined) throw new HoldfastError('VALIDATION', 'file is missing: send one file in the field "file"')
    return file
  }

  /** Reads the rest of the form, behind the file. Throws `VALIDATION` if there is a second one. */
  async rest(): Promise<void> {
    if ((await this.#nextFile()) !== undefined) {
      throw new HoldfastError('VALIDATION', 'file is sent twice: an upload takes one file')
    }
  }

  /** Lets go of the body. */
  async close(): Promise<void> {
    await this.#parts.return()
  }

  async #nextFile(): Promise<FormPart | undefined> {
    for (let next = await this.#parts.next(); next.done !== true; next = await this.#parts.next()) {
      if (next.value.name === 'file' && next.value.isFile) return next.value
      if (next.value.name === 'file')
        throw new HoldfastError('VALIDATION', 'file must be a file part, with a file name')
      await this.fields.take(next.value)
    }
    return undefined
  }
}
