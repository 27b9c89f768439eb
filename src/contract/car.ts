import { NODE_HEADER } from '../clusters/cluster-backend.ts'
import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { FormRequest } from '../http/multipart.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { CarImportOptions, CarOutcome } from '../pins/types.ts'
import { FileForm } from './file-form.ts'
import { presentCar } from './presenters.ts'
import { present, RequestTarget } from './request-target.ts'
import type { Pins, UploadSlots } from './services.ts'
import { checkAnnounced, formOverhead } from './size-limits.ts'
import { inUploadSlot } from './upload-slot.ts'

/** Media type of a CAR, whatever its parameters say. */
export const CAR_TYPE = 'application/vnd.ipld.car'

/** Taking whole DAGs in, beside what the contract has. 201 if any root has a new record, else 200. */
export class CarRoutes {
  readonly #pins: Pins
  readonly #slots: UploadSlots

  constructor(pins: Pins, slots: UploadSlots) {
    this.#pins = pins
    this.#slots = slots
  }

  /** POST /files/car: the CAR as the body, or as the part `file` of a form. */
  import = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const target = new RequestTarget(context)
    const fromNode = context.request.header(NODE_HEADER) !== undefined
    await target.check(this.#pins, context.principal.account.id, fromNode)
    const type = mediaType(context)
    if (type !== CAR_TYPE && type !== 'multipart/form-data') {
      throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${CAR_TYPE} or multipart/form-data`)
    }
    const options = { ...optionsOf(context, target, type === CAR_TYPE ? 0 : formOverhead(0)), fromNode }
    return inUploadSlot(this.#slots, context, async ({ body, signal }) => {
      const outcome = await (type === CAR_TYPE
        ? this.#pins.importCar(body, { ...options, signal })
        : this.#importForm({ header: name => context.request.header(name), body }, target, { ...options, signal }))
      return jsonResponse(outcome.created ? 201 : 200, presentCar(outcome))
    })
  }

  async #importForm(request: FormRequest, target: RequestTarget, options: CarImportOptions): Promise<CarOutcome> {
    const form = new FileForm(request)
    const fields = () => ({
      cluster: target.cluster(form.fields.get('cl')),
      timelock: present(form.fields.get('timelock')) ?? options.timelock,
    })
    try {
      const file = await form.file()
      const late = async () => {
        await form.rest()
        return fields()
      }
      const name = present(file.filename?.replace(/\.car$/i, ''))
      return await this.#pins.importCar(file.content, { ...options, ...fields(), name: options.name ?? name, late })
    } finally {
      await form.close()
    }
  }
}

function optionsOf(context: AuthenticatedContext, target: RequestTarget, overhead: number): CarImportOptions {
  const { request, principal, query } = context
  const limit = { bytes: principal.plan.maxDirectoryBytes, overhead, code: 'DIRECTORY_TOO_LARGE', what: 'CAR' } as const
  return {
    account: principal.account.id,
    signal: request.signal,
    expectedBytes: checkAnnounced(request, limit),
    cluster: target.cluster(),
    timelock: present(query.get('timelock')),
    name: present(query.get('name')),
    originalName: present(query.get('originalName')),
    customName: present(query.get('customName')),
    allowPartial: query.get('allowPartial') === 'true',
  }
}

function mediaType({ request }: AuthenticatedContext): string | undefined {
  return request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
}
