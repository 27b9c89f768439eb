import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { PinTarget, UploadOptions } from '../pins/types.ts'
import { DirectoryForm } from './directory-form.ts'
import { FileForm } from './file-form.ts'
import type { FormFields } from './form-fields.ts'
import { presentDirectory, presentUpload } from './presenters.ts'
import { present, RequestTarget } from './request-target.ts'
import { readDirectoryBody } from './schemas.ts'
import type { Pins, UploadSlots } from './services.ts'
import { checkAnnounced, formOverhead } from './size-limits.ts'

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
    const slot = await this.#slots.enter(principal.account.id, request.signal)
    const form = new FileForm(request)
    try {
      const file = await form.file()
      const { record, created } = await this.#pins.upload(file.content, {
        ...commonOptions(context, expectedBytes),
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
      slot.leave()
    }
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
    const slot = await this.#slots.enter(principal.account.id, request.signal)
    try {
      const form = new DirectoryForm(request)
      const outcome = await this.#pins.uploadDirectory(form.entries(), {
        ...commonOptions(context, expectedBytes),
        cluster: target.cluster(),
        late: async () => ({ ...targetOf(target, form.fields), name: present(form.fields.get('dirName')) }),
      })
      return jsonResponse(outcome.created ? 201 : 200, presentDirectory(outcome))
    } finally {
      slot.leave()
    }
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
    const slot = await this.#slots.enter(context.principal.account.id, context.request.signal)
    try {
      const { record, created } = await this.#pins.importDirectory(body.dirPath, {
        ...commonOptions(context, undefined),
        cluster: target.cluster(body.cl),
        timelock: present(body.timelock),
      })
      return jsonResponse(created ? 201 : 200, presentUpload(record))
    } finally {
      slot.leave()
    }
  }
}

function commonOptions(context: AuthenticatedContext, expectedBytes: number | undefined): UploadOptions {
  return { account: context.principal.account.id, signal: context.request.signal, expectedBytes }
}

function targetOf(target: RequestTarget, fields: FormFields): PinTarget {
  return { cluster: target.cluster(fields.get('cl')), timelock: present(fields.get('timelock')) }
}
