import { attributeQuery } from '../../domain/file-attributes.ts'
import { formBody, type NewPart } from '../../domain/form-body.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import type { PartHeaders } from '../../http/form-headers.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { HandOver, PinOutcome } from '../../pins/pin-types.ts'
import type { FormFields } from '../form-fields.ts'
import { type Stored, stored } from '../record-fields.ts'
import type { RequestTarget } from '../request-target.ts'
import type { SlottedUpload } from './upload-slot.ts'

interface ReadForm {
  target: RequestTarget
  fields: FormFields
  slot: SlottedUpload
}

/**
 * Returns a function that forwards an upload to the node of its cluster, or undefined on a single node. The cluster is
 * sent in a header, because the other node selects a staging disk before it reads the form.
 *
 * @param files converts the staged content to form parts
 */
export function handingOver<Piece>(
  { handOver }: AuthenticatedContext,
  { target, fields, slot }: ReadForm,
  files: (content: AsyncIterable<Piece>) => AsyncIterable<NewPart> | Iterable<NewPart>,
): HandOver<Piece, ApiResponse> | undefined {
  if (handOver === undefined) return undefined
  return ({ node, content, signal }) => {
    // The client has sent everything. Free the slot before the wait for the other node.
    slot.leave()
    const parts = async function* (): AsyncGenerator<NewPart, void, undefined> {
      for (const [name, text] of fields.entries()) if (name !== 'cl') yield { name, text }
      yield* files(content)
    }
    return handOver({ node, cluster: target.cluster(fields.get('cl')), signal, ...formBody(parts()) })
  }
}

/** Returns a function that converts content to a form with one part `file`. */
export function asFile({
  filename,
  attributes,
}: Pick<PartHeaders, 'filename' | 'attributes'>): (content: AsyncIterable<Uint8Array>) => NewPart[] {
  return content => [{ name: `file${attributeQuery(attributes)}`, filename, content }]
}

/** Returns the reply for the local outcome, or the unchanged response of the other node. */
export function answerTo<Outcome extends PinOutcome, Shape>(
  outcome: Outcome | ApiResponse,
  present: (outcome: Outcome) => Shape,
): Stored<Shape> | ApiResponse {
  return 'headers' in outcome ? outcome : stored(outcome.created, present(outcome))
}
