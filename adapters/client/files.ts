import { checkedAttributes, type NewAttributes } from '../../src/domain/file-attributes.ts'
import type { Car, Directory, Upload } from './answers.ts'
import type { Connection } from './connection.ts'
import { type FilePart, formBody } from './form.ts'
import { bodyPart, type RequestBody, type UploadSource } from './request-body.ts'
import { isoTime } from './times.ts'

/** Options of a new record. */
export interface TargetOptions {
  /** Id of the cluster. Default: the account's default cluster. */
  cluster?: string | undefined
  /** Time at which the record expires, as ISO 8601 or a `Date`. Default: never. */
  timelock?: string | Date | undefined
  /** Default: the account's default visibility. */
  visibility?: 'public' | 'private' | undefined
  /** Searchable metadata. Maximum: 64 keys, and 4,096 bytes as JSON. */
  meta?: Readonly<Record<string, string>> | undefined
}

/** Options for sending a body. */
export interface SendOptions {
  /** Receives the number of bytes sent so far. In browsers, a request with this option uses XMLHttpRequest. */
  onProgress?: ((bytes: number) => void) | undefined
  /** Aborts the request, which then fails with `ABORTED`. The server may have stored the content nevertheless. */
  signal?: AbortSignal | undefined
}

/** Options of an upload. */
export interface UploadOptions extends TargetOptions, SendOptions {
  /** Default: the name of the `File`, if the source is one. */
  name?: string | undefined
}

/** Options of a file upload. */
export interface FileUploadOptions extends UploadOptions, NewAttributes {}

/** A file of an uploaded directory. */
export interface DirectoryFile extends NewAttributes {
  /** Path below the directory, with `/` between names. */
  path: string
  content: UploadSource
}

/** A directory below an uploaded directory, with its attributes. */
export interface DirectoryFolder extends NewAttributes {
  kind: 'directory'
  /** Path below the uploaded directory, or `.` for that directory itself. */
  path: string
}

/** Options of an import by server path. */
export interface DirectoryImportOptions extends TargetOptions {
  /** True to store the permissions of files and directories. */
  preserveMode?: boolean | undefined
  /** True to store the times of the last modification. */
  preserveMtime?: boolean | undefined
}

/** Options of a CAR import. */
export interface CarOptions extends UploadOptions {
  originalName?: string | undefined
  /** Takes precedence over `originalName` and `name`. */
  customName?: string | undefined
  /** True to import roots with missing blocks as well. They are not `pinned` until the blocks arrive. */
  allowPartial?: boolean | undefined
}

const CAR_TYPE = 'application/vnd.ipld.car'

/** Uploads of files, directories and CARs. All pinned content is public: anyone who has the CID can read it. */
export class Files {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Uploads a file as a stream.
   *
   * @throws HoldfastError `INVALID_PATH` for a name that a multipart form cannot carry; `VALIDATION` for an unsupported
   * source
   * @example const { cid } = await client.files.upload('hello', { name: 'hello.txt' })
   */
  async upload(source: UploadSource, options: FileUploadOptions = {}): Promise<Upload> {
    const name = options.name ?? nameOf(source) ?? ''
    const files = [{ name, content: bodyPart(source), attributes: checkedAttributes(options) }]
    const body = formBody({ fields: textFields(options), field: 'file', files, onProgress: options.onProgress })
    return this.#send<Upload>('/files', body, options)
  }

  /**
   * Uploads files as one directory.
   * @throws HoldfastError with the codes of {@link upload}
   * @example await client.files.uploadDirectory([{ path: 'index.html', content: '<h1>Hi</h1>' }], { name: 'site' })
   */
  async uploadDirectory(
    files: Iterable<DirectoryFile | DirectoryFolder>,
    options: UploadOptions = {},
  ): Promise<Directory> {
    const fields = { dirName: options.name, ...textFields(options) }
    const named = [...files].map(partOf)
    const body = formBody({ fields, field: 'files', files: named, onProgress: options.onProgress })
    return this.#send<Directory>('/files/directory-dag', body, options)
  }

  /**
   * Imports a directory from the server's own disk, below one of the server's import roots.
   *
   * @throws HoldfastError `NOT_OFFERED` if the server or the plan does not allow imports, `INVALID_PATH`
   * @example const { files } = await client.files.importDirectory('site')
   */
  importDirectory(dirPath: string, options: DirectoryImportOptions = {}): Promise<Directory> {
    const { meta, preserveMode, preserveMtime } = options
    return this.#connection.json<Directory>('POST', '/files/directory', {
      json: { dirPath, ...targetFields(options), meta, preserveMode, preserveMtime },
    })
  }

  // feature: url-uploads
  /**
   * Has the server upload the file at a URL. Resolves when the server has read the whole file.
   *
   * @throws HoldfastError `VALIDATION` for a URL without a file, `UNAVAILABLE` if its server is unreachable or too slow
   * @example const { cid } = await client.files.uploadFromUrl('https://example.org/logo.png')
   */
  uploadFromUrl(url: string, options: UploadOptions = {}): Promise<Upload> {
    const { name, meta, signal } = options
    // The server that keeps the cluster reads the URL, so the cluster is in the query.
    const { cl, timelock, visibility } = targetFields(options)
    return this.#connection.json<Upload>('POST', '/files/url', {
      query: { cl },
      json: { url, name, timelock, visibility, meta },
      signal,
    })
  }

  // end
  /**
   * Imports a CAR as a stream.
   * @throws HoldfastError with the codes of {@link upload}
   * @example const { roots } = await client.files.importCar(await openAsBlob('site.car'))
   */
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
    // With this header, a server can refuse the cluster before it reads the body.
    // A header cannot carry other characters, so the server reads and refuses the field of the body.
    const isHeader = cluster !== undefined && /^[\x21-\x7e]+$/.test(cluster)
    const headers: Record<string, string> = isHeader ? { 'x-cluster': cluster } : {}
    return this.#connection.json<Answer>('POST', path, { query, headers, body, signal })
  }
}

type TargetFields = Record<'cl' | 'timelock' | 'visibility', string | undefined>

/** @throws HoldfastError `INVALID_TIMELOCK` for an invalid `Date` */
export function targetFields({ cluster, timelock, visibility }: TargetOptions): TargetFields {
  return { cl: cluster, timelock: isoTime(timelock, 'timelock', 'INVALID_TIMELOCK'), visibility }
}

function partOf(entry: DirectoryFile | DirectoryFolder): FilePart {
  const { path } = entry
  const attributes = checkedAttributes(entry, `${path}: `)
  if ('content' in entry) return { name: path, content: bodyPart(entry.content), attributes }
  return { name: path, content: new Uint8Array(), attributes, isDirectory: true }
}

function textFields(options: TargetOptions): Record<string, string | undefined> {
  return { ...targetFields(options), meta: options.meta && JSON.stringify(options.meta) }
}

function nameOf(source: UploadSource): string | undefined {
  return typeof source === 'object' && source !== null && 'name' in source && typeof source.name === 'string'
    ? source.name
    : undefined
}
