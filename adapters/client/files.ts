import { HoldfastError } from '../../src/domain/errors.ts'
import type { Car, Directory, Upload } from './answers.ts'
import type { Connection } from './connection.ts'
import { formBody } from './form.ts'
import { bodyPart, type RequestBody, type UploadSource } from './request-body.ts'

/** Where content goes, and for how long. */
export interface TargetOptions {
  /** The cluster; default the account's. */
  cluster?: string | undefined
  /** When it ends, ISO 8601 or a `Date`; default never. */
  timelock?: string | Date | undefined
  /** What is kept with the record, and found by: at most 64 keys, 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** How bodies are sent. */
export interface SendOptions {
  /** Told the bytes of the request sent so far. In browsers XMLHttpRequest sends it then, since their `fetch` does not tell. */
  onProgress?: ((bytes: number) => void) | undefined
  /** Its abort ends the request with `ABORTED`; how far it got is not known. */
  signal?: AbortSignal | undefined
}

/** How a file or directory is uploaded. */
export interface UploadOptions extends TargetOptions, SendOptions {
  /** What lists call it; default the name of a `File`. */
  name?: string | undefined
}

/** A file of a directory that is uploaded. */
export interface DirectoryFile {
  /** `/` between names. */
  path: string
  content: UploadSource
}

/** How a CAR is brought in. */
export interface CarOptions extends UploadOptions {
  /** What it was called where it comes from. */
  originalName?: string | undefined
  /** What lists call it, before any other name. */
  customName?: string | undefined
  /** Keeps roots that are not whole as well, never as pinned. */
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
   * Uploads a file, streamed.
   *
   * @throws HoldfastError with the server's own code; `INVALID_PATH` for a name that a form cannot carry,
   *   `VALIDATION` for what is no source
   */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    const name = options.name ?? nameOf(source) ?? ''
    const files = [{ name, content: bodyPart(source) }]
    const body = formBody({ fields: textFields(options), field: 'file', files, onProgress: options.onProgress })
    return this.#send<Upload>('/files', body, options)
  }

  /** Uploads files as one directory, streamed. @throws HoldfastError as {@link upload} */
  async uploadDirectory(files: Iterable<DirectoryFile>, options: UploadOptions = {}): Promise<Directory> {
    const fields = { dirName: options.name, ...textFields(options) }
    const named = [...files].map(({ path, content }) => ({ name: path, content: bodyPart(content) }))
    const body = formBody({ fields, field: 'files', files: named, onProgress: options.onProgress })
    return this.#send<Directory>('/files/directory-dag', body, options)
  }

  /**
   * Has the server import a directory of its own disk, below its import roots.
   *
   * @throws HoldfastError `NOT_OFFERED` where server or plan do not, `INVALID_PATH`, and with the server's own code
   */
  importDirectory(dirPath: string, options: TargetOptions = {}): Promise<Directory> {
    return this.#connection.json<Directory>('POST', '/files/directory', {
      json: { dirPath, ...targetFields(options), meta: options.meta },
    })
  }

  /** Brings in a CAR, streamed. @throws HoldfastError as {@link upload} */
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
    // Said in a header too, a server can refuse the cluster before the body is sent.
    const headers: Record<string, string> = cluster === undefined ? {} : { 'x-cluster': cluster }
    return this.#connection.json<Answer>('POST', path, { query, headers, body, signal })
  }
}

/** The fields that say where and for how long. @throws HoldfastError `INVALID_TIMELOCK` for a `Date` that is none */
export function targetFields({ cluster, timelock }: TargetOptions): Record<'cl' | 'timelock', string | undefined> {
  if (!(timelock instanceof Date)) return { cl: cluster, timelock }
  if (Number.isNaN(timelock.getTime())) throw new HoldfastError('INVALID_TIMELOCK', 'timelock is not a date')
  return { cl: cluster, timelock: timelock.toISOString() }
}

/** As fields of a form or a query, which are all texts. */
function textFields(options: TargetOptions): Record<string, string | undefined> {
  return { ...targetFields(options), meta: options.meta && JSON.stringify(options.meta) }
}

function nameOf(source: UploadSource): string | undefined {
  return typeof source === 'object' && 'name' in source && typeof source.name === 'string' ? source.name : undefined
}
