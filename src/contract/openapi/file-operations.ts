import { Type } from 'typebox'
import { readDirectoryBody, readPinBody, readRenameBody } from '../schemas.ts'
import { CLUSTER, type Operations, STORING } from './operation.ts'

const binary = Type.String({ contentMediaType: 'application/octet-stream' })
const cl = Type.Optional(Type.String({ description: 'Cluster id; empty counts as absent.' }))
const timelock = Type.Optional(
  Type.String({ format: 'date-time', description: 'When the pin ends; on plans with timelocks.' }),
)
const cid = { cid: 'A CID, version 0 or 1, in any multibase.' }
const formErrors = [...STORING, 'FILE_TOO_LARGE'] as const

/** Content: in, out of sight, and how far it is. */
export const fileOperations: Operations = {
  'POST /files': {
    tag: 'Files',
    summary: 'Upload one file',
    details:
      'The CID is that of the file itself. 201 for a new record; 200 with the record that was there if account, cluster, ' +
      'content, expiry and names are the same. The fields may stand before or behind the file.',
    ...CLUSTER,
    body: { type: 'multipart/form-data', schema: Type.Object({ file: binary, cl, timelock }) },
    answers: { 200: 'Upload', 201: 'Upload' },
    errors: formErrors,
  },
  'POST /files/directory-dag': {
    tag: 'Files',
    summary: 'Upload many files as one directory',
    details:
      'Each file is a part `files` (or `files[]`) whose file name is its path, or a pair `files[0][path]` and ' +
      '`files[0][content]`. `dirName` names the record and adds no directory.',
    ...CLUSTER,
    body: {
      type: 'multipart/form-data',
      schema: Type.Object({ files: Type.Array(binary), dirName: Type.Optional(Type.String()), cl, timelock }),
    },
    answers: { 200: 'Directory', 201: 'Directory' },
    errors: [...formErrors, 'DIRECTORY_TOO_LARGE', 'INVALID_PATH'],
  },
  'POST /files/directory': {
    tag: 'Files',
    summary: 'Import a directory that the server can read',
    details: 'Only below the import roots of the node; relative paths begin at the first one. Offered by the plan.',
    ...CLUSTER,
    body: { type: 'application/json', schema: readDirectoryBody.schema },
    answers: { 200: 'Upload', 201: 'Upload' },
    errors: [...formErrors, 'NOT_OFFERED', 'DIRECTORY_TOO_LARGE', 'INVALID_PATH', 'REQUEST_TOO_LARGE'],
  },
  'POST /files/car': {
    tag: 'Files',
    summary: 'Import a CAR',
    details:
      'Version 1 or 2. Each root becomes a record, all or none; the hash of every block is checked, and a root must be ' +
      'whole, together with what live records of this node have. Blocks that no root needs are not kept. With ' +
      '`allowPartial`, on plans without a storage limit, a root that is not whole is kept as `failed`, for the network to ' +
      'complete.',
    query: {
      ...CLUSTER.query,
      timelock: { description: 'When the pins end, unless a form field says so.', schema: Type.String() },
      name: { description: 'What the upload is called.', schema: Type.String() },
      originalName: { description: 'What it was called before.', schema: Type.String() },
      customName: { description: 'What to call it in lists.', schema: Type.String() },
      allowPartial: { description: '`true`: keep what is not whole.', schema: Type.String() },
    },
    headers: CLUSTER.headers,
    body: [
      { type: 'application/vnd.ipld.car', schema: Type.String({ contentMediaType: 'application/vnd.ipld.car' }) },
      { type: 'multipart/form-data', schema: Type.Object({ file: binary, cl, timelock }) },
    ],
    answers: { 200: 'Car', 201: 'Car' },
    errors: [...formErrors, 'DIRECTORY_TOO_LARGE', 'INVALID_CID', 'NOT_OFFERED', 'CONFLICT'],
  },
  'POST /files/pin/*cid': {
    tag: 'Files',
    summary: 'Pin content by its CID',
    details:
      'Content that is here whole is pinned at once. Anything else is looked for on the network; what takes longer than a ' +
      'request is answered with `status: "pinning"` and goes on, to be followed at `/status/{cid}`.',
    path: cid,
    query: CLUSTER.query,
    headers: {
      ...CLUSTER.headers,
      Prefer: { description: '`respond-async`: answer as soon as the pin is queued.', schema: Type.String() },
    },
    body: { type: 'application/json', schema: readPinBody.schema },
    bodyRequired: false,
    answers: { 200: 'Pin', 201: 'Pin' },
    errors: [...STORING, 'INVALID_CID', 'CID_NOT_FOUND', 'REQUEST_TOO_LARGE'],
  },
  'PUT /files/rename/:uploadId': {
    tag: 'Files',
    summary: 'Rename a record',
    path: { uploadId: 'The `uploadId` of the record.' },
    body: { type: 'application/json', schema: readRenameBody.schema },
    answers: { 200: 'Renamed' },
    errors: ['VALIDATION', 'NOT_FOUND', 'PIN_NOT_FOUND', 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TOO_LARGE'],
  },
  'DELETE /files/remove/*cid': {
    tag: 'Files',
    summary: 'Remove a pin',
    details: 'In one cluster if one is named, else everywhere. Content that another record needs stays.',
    path: cid,
    ...CLUSTER,
    answers: { 200: 'Removed' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },
  'DELETE /users/me/uploads/:cid': {
    tag: 'Files',
    summary: 'Remove a pin (older path)',
    path: cid,
    ...CLUSTER,
    answers: { 200: 'Removed' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },

  'GET /status/:cid': {
    tag: 'Pin status',
    summary: 'How far a pin is',
    path: cid,
    ...CLUSTER,
    answers: { 200: 'Status' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },
  'GET /allocations/:cid': {
    tag: 'Pin status',
    summary: 'Which clusters hold a content',
    path: cid,
    ...CLUSTER,
    answers: { 200: 'Allocations' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },
  'GET /status/allocations/:cid': {
    tag: 'Pin status',
    summary: 'Which clusters hold a content (other path)',
    path: cid,
    ...CLUSTER,
    answers: { 200: 'Allocations' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },
}
