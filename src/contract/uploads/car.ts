import { Type } from 'typebox'
import { NODE_HEADER } from '../../clusters/cluster-backend.ts'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { CarImportOptions, CarOutcome } from '../../pins/pin-types.ts'
import { CLUSTER, cid, count, STORING, text } from '../answer-fields.ts'
import { type ContractRoute, route, type Shown } from '../contract-route.ts'
import { binary, form, metaOf, targetFields } from '../form-fields.ts'
import { presentUploaded, type Stored, uploadedFields } from '../record-fields.ts'
import { present, RequestTarget, tokenOf } from '../request-target.ts'
import type { Services } from '../services.ts'
import { FileForm } from './file-form.ts'
import { answerTo, asFile, handingOver } from './hand-over.ts'
import { checkAnnounced, formOverhead } from './size-limits.ts'
import { inUploadSlot, type SlottedUpload } from './upload-slot.ts'

/** Media type of a CAR, without parameters. */
const CAR_TYPE = 'application/vnd.ipld.car'

export const CarRootView = Type.Object({
  ...uploadedFields,
  missing: orNull(Type.Object({ blocks: count, first: cid }, { description: 'only with allowPartial' })),
})
export const CarView = Type.Object(
  {
    ...uploadedFields,
    roots: Type.Array(CarRootView, {
      description: "all roots of the CAR, the answer's own first",
    }),
  },
  { title: 'Car' },
)

/**
 * Imports whole DAGs. The status is 201 if at least one root has a new record, else 200. This route extends the API
 * contract.
 */
const importCar = route({
  method: 'POST',
  path: '/files/car',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  takesUploadTokens: true,
  summary: 'Import a CAR and pin its roots',
  details:
    'Version 1 or 2. Every root becomes a record, or none does. The node verifies every block. The CAR and the node’s live ' +
    'records together must contain every block of a root. Blocks below no root are dropped. With `allowPartial`, on plans ' +
    'without a storage limit, an incomplete root is stored as `failed`, and the network may complete it.',
  query: {
    ...CLUSTER.query,
    timelock: { description: 'When the pins expire, unless a form field is set.', schema: text },
    visibility: { description: '`public` or `private`, unless a form field is set.', schema: text },
    name: { description: 'Name of the upload.', schema: text },
    originalName: { description: 'Original name.', schema: text },
    customName: { description: 'Name for lists.', schema: text },
    meta: { description: 'A JSON object of texts, stored with the records.', schema: text },
    allowPartial: { description: '`true`: stores incomplete roots.', schema: text },
  },
  headers: CLUSTER.headers,
  forms: [
    { type: CAR_TYPE, schema: Type.String({ contentMediaType: CAR_TYPE }), required: true },
    form(Type.Object({ file: binary, ...targetFields })),
  ],
  answers: { 200: CarView, 201: CarView },
  errors: [...STORING, 'FILE_TOO_LARGE', 'DIRECTORY_TOO_LARGE', 'INVALID_CID', 'NOT_OFFERED', 'CONFLICT'],
  handler: async (context, { pins, clusters, uploadSlots, scopes }) => {
    const target = new RequestTarget(context)
    const fromNode = context.request.header(NODE_HEADER) !== undefined
    await target.check(pins, context.principal.account.id, fromNode)
    const type = mediaType(context)
    if (type !== CAR_TYPE && type !== 'multipart/form-data') {
      throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${CAR_TYPE} or multipart/form-data`)
    }
    const adopts = scopes.adoption(context.principal)
    const options = { ...optionsOf(context, target, type === CAR_TYPE ? 0 : formOverhead(0)), adopts, fromNode }
    return inUploadSlot(uploadSlots, context, async slot => {
      const given = { ...options, signal: slot.signal }
      return type === CAR_TYPE
        ? answerTo(await pins.importCar(slot.body, given), presentCar(clusters))
        : importForm({ pins, clusters }, context, { target, slot, options: given })
    })
  },
})

export const carRoutes: readonly ContractRoute[] = [importCar]

async function importForm(
  { pins, clusters }: Pick<Services, 'pins' | 'clusters'>,
  context: AuthenticatedContext,
  { target, slot, options }: { target: RequestTarget; slot: SlottedUpload; options: CarImportOptions },
): Promise<Stored<Shown<typeof CarView>> | ApiResponse> {
  const parts = new FileForm({ header: name => context.request.header(name), body: slot.body })
  const fields = () => ({
    cluster: target.cluster(parts.fields.get('cl')),
    timelock: present(parts.fields.get('timelock')) ?? options.timelock,
    visibility: present(parts.fields.get('visibility')) ?? options.visibility,
    meta: metaOf(parts.fields.get('meta')) ?? options.meta,
  })
  try {
    const file = await parts.file()
    const late = async () => {
      await parts.rest()
      return fields()
    }
    const name = present(file.filename?.replace(/\.car$/i, ''))
    const given = { ...options, ...fields(), name: options.name ?? name, late }
    const handOver = handingOver(context, { target, fields: parts.fields, slot }, asFile(file))
    return answerTo(await pins.importCar(file.content, given, handOver), presentCar(clusters))
  } finally {
    await parts.close()
  }
}

/** Returns a function that builds the response: the record of the first root, then the records of all roots. */
function presentCar(clusters: Services['clusters']): (outcome: CarOutcome) => Shown<typeof CarView> {
  return ({ record, roots }) => ({
    ...presentUploaded(record, clusters),
    roots: roots.map(({ record: one, missing }) => ({ ...presentUploaded(one, clusters), missing })),
  })
}

function optionsOf(context: AuthenticatedContext, target: RequestTarget, overhead: number): CarImportOptions {
  const { request, principal, query } = context
  const limit = { bytes: principal.plan.maxDirectoryBytes, overhead, code: 'DIRECTORY_TOO_LARGE', what: 'CAR' } as const
  return {
    account: principal.account.id,
    token: tokenOf(principal),
    signal: request.signal,
    expectedBytes: checkAnnounced(request, limit),
    cluster: target.cluster(),
    timelock: present(query.get('timelock')),
    visibility: present(query.get('visibility')),
    name: present(query.get('name')),
    originalName: present(query.get('originalName')),
    customName: present(query.get('customName')),
    meta: metaOf(query.get('meta')),
    allowPartial: query.get('allowPartial') === 'true',
  }
}

function mediaType({ request }: AuthenticatedContext): string | undefined {
  return request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
}
