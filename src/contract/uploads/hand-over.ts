import { formBody, type NewPart } from '../../domain/form-body.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { HandOver, PinOutcome } from '../../pins/pin-types.ts'
import type { FormFields } from '../form-fields.ts'
import { type Stored, stored } from '../record-fields.ts'
import type { RequestTarget } from '../request-target.ts'
import type { SlottedUpload } from './upload-slot.ts'

/** A form that is read. */
interface ReadForm {
  target: RequestTarget
  fields: FormFields
  slot: SlottedUpload
}

/**
 * Has the node that keeps the cluster of a form answer it, by another form: the same fields, then what was sent, as it was
 * staged. The cluster stands in front of it, so that the other node stages where it keeps.
 *
 * @param files the parts that the content makes
 */
export function handingOver<Piece>(
  { handOver }: AuthenticatedContext,
  { target, fields, slot }: ReadForm,
  files: (content: AsyncIterable<Piece>) => AsyncIterable<NewPart> | Iterable<NewPart>,
): HandOver<Piece, ApiResponse> | undefined {
  if (handOver === undefined) return undefined
  return ({ node, content, signal }) => {
    // Nothing is taken in any more, and whoever waits for another node must not keep others from that.
    slot.leave()
    const parts = async function* (): AsyncGenerator<NewPart, void, undefined> {
      for (const [name, text] of fields.entries()) if (name !== 'cl') yield { name, text }
      yield* files(content)
    }
    return handOver({ node, cluster: target.cluster(fields.get('cl')), signal, ...formBody(parts()) })
  }
}

/** A form with one file in the part `file`. */
export function asFile(filename: string | undefined): (content: AsyncIterable<Uint8Array>) => NewPart[] {
  return content => [{ name: 'file', filename, content }]
}

/** The answer to an upload: what was made of it, or what another node has answered. */
export function answerTo<Outcome extends PinOutcome, Shape>(
  outcome: Outcome | ApiResponse,
  present: (outcome: Outcome) => Shape,
): Stored<Shape> | ApiResponse {
  return 'headers' in outcome ? outcome : stored(outcome.created, present(outcome))
}
