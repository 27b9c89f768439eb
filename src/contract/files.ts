import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { PinTarget } from '../pins/types.ts'
import { DirectoryForm } from './directory-form.ts'
import { FileForm } from './file-form.ts'
import type { FormFields } from './form-fields.ts'
import { presentDirectory, presentUpload } from './presenters.ts'
import { present, RequestTarget } from './request-target.ts'
import { readDirectoryBody } from './schemas.ts'
import type { Pins, UploadSlots } from './services.ts'
import { checkAnnounced, formOverhead } from './size-limits.ts'
import { inUploadSlot } from './upload-slot.ts'

/** The three ways of uploading. 201 for a new record, 200 if an identical one was there. */
export class FileRoutes {
  readonly #pins: Pins
  readonly #slots: UploadSlots

  constructor(pins: Pins, slots: UploadSlots) {
    this.#pins = pins
    this.#slots = slots
  }

  /** POST /files. The fields behind the file decide as well as those before it. */
  upload = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { request, principal } = context
    const target = new RequestTarget(context)
    await target.check(this.#pins, principal.account.id)
    const expectedBytes = checkAnnounced(request, {
      bytes: principal.plan.maxFileBytes,
      overhead: formOverhead(0),
      code: 'FILE_TOO_LARGE',
      what: 'file',
    })
    return inUploadSlot(this.#slots, context, async ({ body, signal }) => {
      const form = new FileForm({ header: name => request.header(name), body })
      try {
        const file = await form.file()
        const { record, created } = await this.#pins.upload(file.content, {
          ...{ account: principal.account.id, signal, expectedBytes },
          ...targetOf(target, form.fields),
          name: present(file.filename),
          late: async () => {
            await form.rest()
            return targetOf(target, form.fields)
          },
        })
        return jsonResponse(created ? 201 : 200, presentUpload(record))
      } finally {
        await form.close()
      }
    })
  }

  /** POST /files/directory-dag. */
  uploadDirectory = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { request, principal } = context
    const target = new RequestTarget(context)
    await target.check(this.#pins, principal.account.id)
    const expectedBytes = checkAnnounced(request, {
      bytes: principal.plan.maxDirectoryBytes,
      overhead: formOverhead(principal.plan.maxDirectoryFiles),
      code: 'DIRECTORY_TOO_LARGE',
      what: 'directory',
    })
    return inUploadSlot(this.#slots, context, async ({ body, signal }) => {
      const form = new DirectoryForm({ header: name => request.header(name), body })
      const outcome = await this.#pins.uploadDirectory(form.entries(), {
        ...{ account: principal.account.id, signal, expectedBytes },
        cluster: target.cluster(),
        late: async () => ({ ...targetOf(target, form.fields), name: present(form.fields.get('dirName')) }),
      })
      return jsonResponse(outcome.created ? 201 : 200, presentDirectory(outcome))
    })
  }

  /** POST /files/directory: a directory that the node itself can read. */
  importDirectory = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const target = new RequestTarget(context)
    await target.check(this.#pins, context.principal.account.id)
    const body = await readDirectoryBody(context.request)
    // Before the path is looked at: an answer must tell nothing of the disk.
    const { plan } = context.principal
    if (!plan.serverImport) {
      throw new HoldfastError('NOT_OFFERED', `the plan ${plan.name} does not offer imports by server path`)
    }
    return inUploadSlot(this.#slots, context, async ({ signal }) => {
      const { record, created } = await this.#pins.importDirectory(body.dirPath, {
        ...{ account: context.principal.account.id, signal },
        cluster: target.cluster(body.cl),
        timelock: present(body.timelock),
      })
      return jsonResponse(created ? 201 : 200, presentUpload(record))
    })
  }
}

function targetOf(target: RequestTarget, fields: FormFields): PinTarget {
  return { cluster: target.cluster(fields.get('cl')), timelock: present(fields.get('timelock')) }
}
