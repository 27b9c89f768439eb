import { HoldfastError } from '../../src/domain/errors.ts'
import type { Car, Directory, Upload } from './answers.ts'
import type { Connection } from './connection.ts'
import { formBody } from './form.ts'
import { bodyPart, type RequestBody, type UploadSource } from './request-body.ts'

/** Destination and lifetime of content. */
export interface TargetOptions {
  /** Cluster; default the account's. */
  cluster?: string | undefined
  /** Expiry, ISO 8601 or a `Date`; default never. */
  timelock?: string | Date | undefined
  /** Searchable metadata of the record: at most 64 keys, 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** Options of sending a body. */
export interface SendOptions {
  /**
   * Receives the bytes of the request sent so far. In browsers XMLHttpRequest then sends it, since their `fetch`
   * reports no progress.
   */
  onProgress?: ((bytes: number) => void) | undefined
  /** Ends the request with `ABORTED`; it may have taken effect. */
  signal?: AbortSignal | undefined
}

/** Options of an upload. */
export interface UploadOptions extends TargetOptions, SendOptions {
  /** Name in lists; default the name of a `File`. */
  name?: string | undefined
}

/** A file of an uploaded directory. */
export interface DirectoryFile {
  /** Path in the directory, with `/` between names. */
  path: string
  content: UploadSource
}

/** Options of a CAR import. */
export interface CarOptions extends UploadOptions {
  /** Name at the content's origin. */
  originalName?: string | undefined
  /** Name in lists, before any other name. */
  customName?: string | undefined
  /** Also keeps incomplete roots, but never as pinned. */
  allowPartial?: boolean | undefined
}

const CAR_TYPE = 'application/vnd.ipld.car'

/** Uploads. Everything pinned is public: anyone with its CID can read it. */
export class Files {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Uploads a file as a stream.
   *
   * @throws HoldfastError with the server's own code; `INVALID_PATH` for a name that a form cannot carry, `VALIDATION`
   * for an unsupported source
   */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    const name = options.name ?? nameOf(source) ?? ''
    const files = [{ name, content: bodyPart(source) }]
    const body = formBody({ fields: textFields(options), field: 'file', files, onProgress: options.onProgress })
    return this.#send<Upload>('/files', body, options)
  }

  /** Uploads files as one directory, as a stream. @throws HoldfastError as {@link upload} */
  async uploadDirectory(files: Iterable<DirectoryFile>, options: UploadOptions = {}): Promise<Directory> {
    const fields = { dirName: options.name, ...textFields(options) }
    const named = [...files].map(({ path, content }) => ({ name: path, content: bodyPart(content) }))
    const body = formBody({ fields, field: 'files', files: named, onProgress: options.onProgress })
    return this.#send<Directory>('/files/directory-dag', body, options)
  }

  /**
   * Imports a directory of the server's own disk, below its import roots.
   *
   * @throws HoldfastError `NOT_OFFERED` if server or plan refuse, `INVALID_PATH`, and with the server's own code
   */
  importDirectory(dirPath: string, options: TargetOptions = {}): Promise<Directory> {
    return this.#connection.json<Directory>('POST', '/files/directory', {
      json: { dirPath, ...targetFields(options), meta: options.meta },
    })
  }

  /** Imports a CAR as a stream. @throws HoldfastError as {@link upload} */
  async importCar(source: UploadSource, options: CarOptions = {}): Promise<Car> {
    const { name, originalName, customName, allowPartial } = options
    const body = { type: CAR_TYPE, parts: [bodyPart(source)], onProgress: options.onProgress }
    const named = { name, originalName, customName, allowPartial: allowPartial === true ? 'true' : undefined }
    return this.#send<Car>('/files/car', body, options, { ...named, ...textFields(options) })
  }

  #send<Answer extends object>(
    path: string,
    body: RequestBody,
    { cluster, signal }: TargetOptions & SendOptions,
    query: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Answer> {
    // Also as a header, so that a server can refuse the cluster before the body.
    const headers: Record<string, string> = cluster === undefined ? {} : { 'x-cluster': cluster }
    return this.#connection.json<Answer>('POST', path, { query, headers, body, signal })
  }
}

/** Returns the fields for cluster and expiry. @throws HoldfastError `INVALID_TIMELOCK` for an invalid `Date` */
export function targetFields({ cluster, timelock }: TargetOptions): Record<'cl' | 'timelock', string | undefined> {
  if (!(timelock instanceof Date)) return { cl: cluster, timelock }
  if (Number.isNaN(timelock.getTime())) throw new HoldfastError('INVALID_TIMELOCK', 'timelock is not a date')
  return { cl: cluster, timelock: timelock.toISOString() }
}

/** Returns the options as texts, for a form or a query. */
function textFields(options: TargetOptions): Record<string, string | undefined> {
  return { ...targetFields(options), meta: options.meta && JSON.stringify(options.meta) }
}

function nameOf(source: UploadSource): string | undefined {
  return typeof source === 'object' && 'name' in source && typeof source.name === 'string' ? source.name : undefined
}
