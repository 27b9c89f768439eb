import { HoldfastError } from '../../domain/errors.ts'
import { type FormPart, type FormRequest, readForm, type WholePart, wholeForm } from '../../http/multipart.ts'
import { FormFields } from '../form-fields.ts'

const FIELDS = ['cl', 'timelock', 'meta', 'visibility'] as const

/** A form with one part `file`, and text fields before and after the file. */
export class FileForm {
  readonly fields = new FormFields(FIELDS)
  readonly #parts: AsyncGenerator<FormPart, void, undefined>

  constructor(request: FormRequest) {
    this.#parts = readForm(request)
  }

  /** Reads the form up to the start of the file. Throws `VALIDATION` if the form has no file. */
  async file(): Promise<FormPart> {
    const file = await this.#nextFile()
    if (file === undefined) throw missing()
    return file
  }

  /** Reads the form after the file. Throws `VALIDATION` for a second file. */
  async rest(): Promise<void> {
    if ((await this.#nextFile()) !== undefined) throw twice()
  }

  /** Stops reading and releases the request body. */
  async close(): Promise<void> {
    await this.#parts.return()
  }

  async #nextFile(): Promise<FormPart | undefined> {
    for (let next = await this.#parts.next(); next.done !== true; next = await this.#parts.next()) {
      const part = next.value
      if (part.name !== 'file') {
        await this.fields.take(part)
        continue
      }
      checkFile(part)
      const file = part.filename === '' ? await unlessEmpty(part) : part
      if (file !== undefined) return file
    }
    return undefined
  }
}

/** Parses a form that is already in memory. Throws the errors of {@link FileForm}. */
export function wholeFileForm(
  body: Uint8Array,
  contentType: string | undefined,
): { file: WholePart; fields: FormFields } {
  const fields = new FormFields(FIELDS)
  let file: WholePart | undefined
  for (const part of wholeForm(body, contentType)) {
    if (part.name !== 'file') {
      fields.takeWhole(part)
      continue
    }
    checkFile(part)
    if (part.filename === '' && part.bytes.length === 0) continue
    if (file !== undefined) throw twice()
    file = part
  }
  if (file === undefined) throw missing()
  return { file, fields }
}

function checkFile({ isFile }: Pick<FormPart, 'isFile'>): void {
  if (!isFile) throw new HoldfastError('VALIDATION', 'file must be a file part, with a file name')
}

function missing(): HoldfastError {
  return new HoldfastError('VALIDATION', 'file is missing: send one file in the field "file"')
}

function twice(): HoldfastError {
  return new HoldfastError('VALIDATION', 'file is sent twice: an upload takes one file')
}

/** Returns undefined for an empty part. Browsers send an empty part if no file has been chosen. */
async function unlessEmpty(part: FormPart): Promise<FormPart | undefined> {
  const content = part.content[Symbol.asyncIterator]()
  const first = await content.next()
  if (first.done === true) return undefined
  async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
    yield first.value
    yield* { [Symbol.asyncIterator]: () => content }
  }
  return { ...part, content: whole() }
}
