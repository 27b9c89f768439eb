import { Type } from 'typebox'
import { cid, instant, text } from '../../contract/answer-fields.ts'
import type { Shown } from '../../contract/contract-route.ts'
import { meta, state } from '../../contract/record-fields.ts'
import { iso } from '../../domain/iso-instant.ts'
import type { PinProgress } from '../../pins/fetch/pin-progress.ts'
import type { PinRecord } from '../../pins/pin-types.ts'

export const PsaPinStatus = Type.Object(
  {
    requestid: text,
    status: state,
    created: instant,
    pin: Type.Object({ cid, name: Type.Optional(text), meta: Type.Optional(meta) }),
    delegates: Type.Array(Type.String({ description: 'multiaddr of this node' }), { minItems: 1, maxItems: 20 }),
    info: Type.Optional(Type.Record(text, text)),
  },
  { title: 'PinStatus' },
)

const MOST_DELEGATES = 20

export function presentPinStatus(
  record: PinRecord,
  delegates: readonly string[],
  progress?: PinProgress,
): Shown<typeof PsaPinStatus> {
  const { cid: pinned, name, meta: kept } = record
  const reason = progress?.reason ?? null
  return {
    requestid: record.uploadId,
    status: record.status,
    created: iso(record.createdAt),
    pin: { cid: pinned, ...(name !== null && { name }), ...(Object.keys(kept).length > 0 && { meta: kept }) },
    delegates: delegates.slice(0, MOST_DELEGATES),
    info: { visibility: record.visibility, ...(reason !== null && { status_details: reason }) },
  }
}
