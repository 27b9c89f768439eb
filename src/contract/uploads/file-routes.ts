import { Type } from 'typebox'
import type { StagedFile } from '../../content/unixfs/staged-files.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { attributeQuery, DIRECTORY_TYPE } from '../../domain/file-attributes.ts'
import type { NewPart } from '../../domain/form-body.ts'
import type { DirectoryOutcome, PinNames, PinOutcome, PinTarget } from '../../pins/pin-types.ts'
import { CLUSTER, STORING, text } from '../answer-fields.ts'
import { identifier, optional, optionalMeta } from '../body-reader.ts'
import { type ContractRoute, json, route, type Shown } from '../contract-route.ts'
import { binary, type FormFields, form, metaOf, targetFields } from '../form-fields.ts'
import {
  dagFields,
  linkTo,
  optionalVisibility,
  presentDag,
  presentUploaded,
  stored,
  Upload,
  uploadedFields,
} from '../record-fields.ts'
import { present, RequestTarget, tokenOf } from '../request-target.ts'
import type { Services } from '../services.ts'
import { DirectoryForm } from './directory-form.ts'
import { FileForm, wholeFileForm } from './file-form.ts'
import { answerTo, asFile, handingOver } from './hand-over.ts'
import { checkAnnounced, formOverhead } from './size-limits.ts'
import { inUploadSlot } from './upload-slot.ts'

const ATTRIBUTES =
  'A part named `files?mode=0644&mtime=1700000000&mtime-nsecs=5` (or `file?…`) stores these attributes (UnixFS 1.5), which change the CID.'

/** Up to this size, a form is read as a whole, because streaming a small form costs more. */
const SMALL_FORM_BYTES = 64 * 1024

export const Directory = Type.Object({ message: text, ...dagFields, url: uploadedFields.url }, { title: 'Directory' })

const upload = route({
  method: 'POST',
  path: '/files',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  takesUploadTokens: true,
  summary: 'Upload one file, the part `file` of a form',
  details:
    'The CID is that of the file itself. Answers 201 for a new record, and 200 with an existing one of the same account, ' +
    'cluster, content, expiry and names. The fields may precede or follow the file. ' +
    ATTRIBUTES,
  ...CLUSTER,
  forms: [form(Type.Object({ file: binary, ...targetFields }))],
  answers: { 200: Upload, 201: Upload },
  errors: [...STORING, 'FILE_TOO_LARGE'],
  handler: async (context, { pins, clusters, uploadSlots, scopes }) => {
    const { request, principal } = context
    const target = new RequestTarget(context)
    await target.check(pins, principal.account.id)
    const adopts = scopes.adoption(principal)
    const expectedBytes = checkAnnounced(request, {
      bytes: principal.plan.maxFileBytes,
      overhead: formOverhead(0),
      code: 'FILE_TOO_LARGE',
      what: 'file',
    })
    return inUploadSlot(uploadSlots, context, async slot => {
      const { body, arrived, signal } = slot
      const upload = { account: principal.account.id, signal, expectedBytes, token: tokenOf(principal), adopts }
      if (expectedBytes !== undefined && expectedBytes <= SMALL_FORM_BYTES) {
        const { file, fields } = wholeFileForm(arrived ?? (await whole(body)), request.header('content-type'))
        const options = { ...upload, ...file.attributes, ...targetOf(target, fields), name: present(file.filename) }
        const handOver = handingOver(context, { target, fields, slot }, asFile(file))
        return answerTo(await pins.upload(file.bytes, options, handOver), presentFile(clusters))
      }
      const parts = new FileForm({ header: name => request.header(name), body })
      try {
        const file = await parts.file()
        const options = {
          ...upload,
          ...file.attributes,
          ...targetOf(target, parts.fields),
          name: present(file.filename),
          // Text fields after the file override fields of the same name before the file.
          late: async () => {
            await parts.rest()
            return targetOf(target, parts.fields)
          },
        }
        const handOver = handingOver(context, { target, fields: parts.fields, slot }, asFile(file))
        return answerTo(await pins.upload(file.content, options, handOver), presentFile(clusters))
      } finally {
        await parts.close()
      }
    })
  },
})

const uploadDirectory = route({
  method: 'POST',
  path: '/files/directory-dag',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  takesUploadTokens: true,
  summary: 'Upload many files as one directory, the parts `files` of a form',
  details:
    'Each file is a part `files` (or `files[]`) with its path as the file name, or a pair `files[0][path]` and ' +
    '`files[0][content]`. The field `dirName` names the record and adds no directory. ' +
    ATTRIBUTES,
  ...CLUSTER,
  forms: [form(Type.Object({ files: Type.Array(binary), dirName: Type.Optional(Type.String()), ...targetFields }))],
  answers: { 200: Directory, 201: Directory },
  errors: [...STORING, 'FILE_TOO_LARGE', 'DIRECTORY_TOO_LARGE', 'INVALID_PATH'],
  handler: async (context, { pins, clusters, uploadSlots, scopes }) => {
    const { request, principal } = context
    const target = new RequestTarget(context)
    await target.check(pins, principal.account.id)
    const expectedBytes = checkAnnounced(request, {
      bytes: principal.plan.maxDirectoryBytes,
      overhead: formOverhead(principal.plan.maxDirectoryFiles),
      code: 'DIRECTORY_TOO_LARGE',
      what: 'directory',
    })
    return inUploadSlot(uploadSlots, context, async slot => {
      const { body, signal } = slot
      const parts = new DirectoryForm({ header: name => request.header(name), body })
      const options = {
        account: principal.account.id,
        signal,
        expectedBytes,
        token: tokenOf(principal),
        adopts: scopes.adoption(principal),
        cluster: target.cluster(),
        late: async () => ({ ...targetOf(target, parts.fields), name: present(parts.fields.get('dirName')) }),
      }
      const handOver = handingOver(context, { target, fields: parts.fields, slot }, asFiles)
      return answerTo(await pins.uploadDirectory(parts.entries(), options, handOver), presentDirectory(clusters))
    })
  },
})

const importDirectory = route({
  method: 'POST',
  path: '/files/directory',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  summary: 'Import a directory that the server can read, at `dirPath`',
  details: 'Only below the import roots of the node. Relative paths start at the first one. The plan must allow it.',
  ...CLUSTER,
  body: json(
    Type.Object({
      dirPath: identifier,
      cl: optional,
      timelock: optional,
      meta: optionalMeta,
      visibility: optionalVisibility,
      preserveMode: preserve('permissions'),
      preserveMtime: preserve('times of the last modification'),
    }),
  ),
  answers: { 200: Upload, 201: Upload },
  errors: [...STORING, 'FILE_TOO_LARGE', 'NOT_OFFERED', 'DIRECTORY_TOO_LARGE', 'INVALID_PATH'],
  handler: async (context, { pins, clusters, uploadSlots, scopes }) => {
    const target = new RequestTarget(context)
    await target.check(pins, context.principal.account.id)
    const body = await context.body()
    // The plan is checked before the path is read, because a refusal must not reveal which paths exist.
    const { plan } = context.principal
    if (!plan.serverImport) {
      throw new HoldfastError('NOT_OFFERED', `the plan ${plan.name} does not offer imports by server path`)
    }
    return inUploadSlot(uploadSlots, context, async ({ signal }) => {
      const { record, created } = await pins.importDirectory(body.dirPath, {
        account: context.principal.account.id,
        signal,
        cluster: target.cluster(body.cl),
        timelock: present(body.timelock),
        meta: body.meta,
        visibility: present(body.visibility),
        adopts: scopes.adoption(context.principal),
        preserveMode: body.preserveMode,
        preserveMtime: body.preserveMtime,
      })
      return stored(created, presentUploaded(record, clusters))
    })
  },
})

function preserve(what: string) {
  return Type.Optional(Type.Boolean({ description: `True to store the ${what}, which changes the CID.` }))
}

/** The status is 201 for a new record, or 200 if an identical record already exists. */
export const fileRoutes: readonly ContractRoute[] = [upload, importDirectory, uploadDirectory]

function presentFile(clusters: Services['clusters']): (outcome: PinOutcome) => Shown<typeof Upload> {
  return ({ record }) => presentUploaded(record, clusters)
}

function presentDirectory(clusters: Services['clusters']): (outcome: DirectoryOutcome) => Shown<typeof Directory> {
  return outcome => ({
    message: outcome.created ? 'directory uploaded' : 'directory exists already',
    ...presentDag(outcome),
    ...linkTo(outcome.record, clusters),
  })
}

async function* asFiles(files: AsyncIterable<StagedFile>): AsyncGenerator<NewPart, void, undefined> {
  for await (const { path, content, attributes, isDirectory } of files) {
    const type = isDirectory ? DIRECTORY_TYPE : undefined
    yield { name: `files${attributeQuery(attributes)}`, filename: path, content, type }
  }
}

function targetOf(target: RequestTarget, fields: FormFields): PinTarget & Pick<PinNames, 'meta'> {
  const [timelock, visibility] = [present(fields.get('timelock')), present(fields.get('visibility'))]
  return { cluster: target.cluster(fields.get('cl')), timelock, visibility, meta: metaOf(fields.get('meta')) }
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece))
  const [only] = pieces
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
}
