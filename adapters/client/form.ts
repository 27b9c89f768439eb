import { bytesOfText, shownText } from '../../src/domain/byte-text.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { attributeQuery, DIRECTORY_TYPE, type StoredAttributes } from '../../src/domain/file-attributes.ts'
import { formTrouble } from '../../src/domain/form-names.ts'
import type { BodyPart, RequestBody } from './request-body.ts'

/** Part of a form for a file, or for a directory without content. */
export interface FilePart {
  /** Text form. */
  name: string
  content: BodyPart
  attributes?: StoredAttributes
  isDirectory?: boolean
}

export interface FormOptions {
  /** Form fields, without undefined ones. They precede the files, so that a server can refuse a field early. */
  fields: Readonly<Record<string, string | undefined>>
  field: 'file' | 'files'
  files: readonly FilePart[]
  onProgress?: ((bytes: number) => void) | undefined
}

const BOUNDARY_BYTES = 16

/**
 * Replaces the platform's `FormData`, which can neither stream nor report its length.
 *
 * @throws HoldfastError `INVALID_PATH` for a file name that the form would change
 */
export function formBody({ fields, field, files, onProgress }: FormOptions): RequestBody {
  const random = crypto.getRandomValues(new Uint8Array(BOUNDARY_BYTES))
  const boundary = `holdfast-${Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('')}`
  const head = (disposition: string, type = ''): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${type}\r\n`
  const encoder = new TextEncoder()
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [encoder.encode(`${head(`name="${name}"`)}${value}\r\n`)],
  )
  const parts = files.flatMap(({ name, content, attributes = {}, isDirectory }) => {
    const type = isDirectory === true ? `Content-Type: ${DIRECTORY_TYPE}\r\n` : ''
    const disposition = `name="${field}${attributeQuery(attributes)}"; filename="${filename(name)}"`
    const before = bytesOfText(head(disposition, type))
    return [before, content, encoder.encode('\r\n')]
  })
  const end = encoder.encode(`--${boundary}--\r\n`)
  return { type: `multipart/form-data; boundary=${boundary}`, parts: [...texts, ...parts, end], onProgress }
}

/** Throws for a name that the form would change. */
function filename(name: string): string {
  const problem = formTrouble(name)
  if (problem !== null) {
    throw new HoldfastError(
      'INVALID_PATH',
      `${shownText(name)} cannot be uploaded by this name, it has ${problem} in it`,
    )
  }
  return name.replaceAll('"', '%22')
}
