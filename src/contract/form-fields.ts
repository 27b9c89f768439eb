import { type TSchema, Type } from 'typebox'
import { checkTexts } from '../config/given-texts.ts'
import { HoldfastError } from '../domain/errors.ts'
import { quoted } from '../http/form-headers.ts'
import { parseJson } from '../http/json-body.ts'
import { type FormPart, partText, readPartText, type WholePart } from '../http/multipart.ts'
import type { Body } from './contract-route.ts'
import { optionalVisibility } from './record-fields.ts'
import { present } from './request-target.ts'

const MAX_FIELD_BYTES = 64 * 1024
const MAX_FIELDS = 1_000

/** The text fields of a form. The last non-empty value of a repeated field applies. Unknown fields are ignored. */
export class FormFields {
  readonly #known: ReadonlySet<string>
  readonly #values = new Map<string, string>()
  #count = 0

  constructor(known: readonly string[]) {
    this.#known = new Set(known)
  }

  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  /** Returns the known fields that are not empty. */
  entries(): Iterable<[name: string, text: string]> {
    return this.#values.entries()
  }

  /** Reads a field. Throws `VALIDATION` if the field is too long or a file, or if the form has too many fields. */
  async take(part: FormPart): Promise<void> {
    this.#check(part)
    this.#set(part.name, await readPartText(part, MAX_FIELD_BYTES))
  }

  /** Reads a field of a form that is already in memory. Throws the errors of {@link take}. */
  takeWhole(part: WholePart): void {
    this.#check(part)
    this.#set(part.name, partText(part, MAX_FIELD_BYTES))
  }

  #check(part: Pick<FormPart, 'name' | 'isFile'>): void {
    if (part.isFile) throw new HoldfastError('VALIDATION', `field ${quoted(part.name)} must not be a file`)
    this.#count += 1
    if (this.#count > MAX_FIELDS) throw new HoldfastError('VALIDATION', `the form has over ${MAX_FIELDS} text fields`)
  }

  #set(name: string, text: string): void {
    checkTexts(text, `field ${quoted(name)}`)
    if (this.#known.has(name) && present(text) !== undefined) this.#values.set(name, text)
  }
}

export const binary = Type.String({ contentMediaType: 'application/octet-stream' })
export const targetFields = {
  cl: Type.Optional(Type.String({ description: 'Cluster id; empty counts as absent.' })),
  timelock: Type.Optional(
    Type.String({ format: 'date-time', description: 'When the pin expires. Only on plans with timelocks.' }),
  ),
  meta: Type.Optional(Type.String({ contentMediaType: 'application/json', description: 'An object of texts.' })),
  visibility: optionalVisibility,
}

/**
 * Parses the metadata of a record. Returns undefined for missing or empty text.
 *
 * @throws HoldfastError `VALIDATION` if the text is not a JSON object
 */
export function metaOf(text: string | null | undefined): Record<string, string> | undefined {
  if (text === null || text === undefined || text.trim() === '') return undefined
  const meta = parseJson(Buffer.from(text), 'meta')
  checkTexts(meta, 'meta')
  // The pin service validates the values of the object.
  if (typeof meta === 'object' && meta !== null && !Array.isArray(meta)) return meta as Record<string, string>
  throw new HoldfastError('VALIDATION', 'meta must be a JSON object of texts')
}

/** Declares a form body that the handler reads itself. */
export function form(schema: TSchema): Body {
  return { type: 'multipart/form-data', schema, required: true }
}
