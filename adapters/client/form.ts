import { HoldfastError } from '../../src/domain/errors.ts'
import type { BodyPart, RequestBody } from './request-body.ts'

export interface FormOptions {
  /** Form fields, without undefined ones. They precede the files, so that a server can refuse a field early. */
  fields: Readonly<Record<string, string | undefined>>
  field: 'file' | 'files'
  files: readonly { name: string; content: BodyPart }[]
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
  const head = (disposition: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
  const encoder = new TextEncoder()
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [encoder.encode(`${head(`name="${name}"`)}${value}\r\n`)],
  )
  const parts = files.flatMap(({ name, content }) => {
    const before = encoder.encode(head(`name="${field}"; filename="${filename(name)}"`))
    return [before, content, encoder.encode('\r\n')]
  })
  const end = encoder.encode(`--${boundary}--\r\n`)
  return { type: `multipart/form-data; boundary=${boundary}`, parts: [...texts, ...parts, end], onProgress }
}

/** Throws for a name that the form would change. */
function filename(name: string): string {
  const trouble = /[\0\r\n]/.test(name) ? 'a line break' : name.includes('\\') ? 'a backslash' : ''
  const problem = trouble || (name.includes('%22') ? '%22' : '')
  if (problem !== '') {
    throw new HoldfastError('INVALID_PATH', `${name} cannot be uploaded by this name, it has ${problem} in it`)
  }
  return name.replaceAll('"', '%22')
}
