/** A request, as any load client can make it. */
export interface Call {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
}

/** A pinning service in processes of its own, and what the questions ask of all of them, each in its own protocol. */
export interface Service {
  /** Its processes, those below them included by whoever looks. */
  readonly pids: readonly number[]
  /** How a multipart form with one file is uploaded, or with the files of a directory. */
  upload(kind: 'file' | 'tree'): Call
  /** The root in the answer to an upload. */
  rootOf(answer: string): string
  /** Whether its roots are those of the others, whatever the size. */
  readonly isComparable: boolean
  /** Resolves when its gateway serves as it does from then on. Nobody has read before. */
  startReading?(): Promise<void>
  /** Content below `/ipfs/`, by its gateway. */
  read?(path: string): Call
  status?(cid: string): Call
  /** A page of so many of what an account has. */
  list?(limit: number): Call
  remove(cid: string): Call
  /** Resolves when what nothing pins is gone. */
  collect?(): Promise<void>
  stop(): Promise<void>
}

/** Starts one in an existing empty directory. The caller stops it. */
export interface ServiceKind {
  readonly name: string
  start(dir: string): Promise<Service>
}

/** Makes one small call. @throws Error for any answer but success */
export async function call({ method, url, headers }: Call, body?: Uint8Array): Promise<string> {
  const init = { method, headers, ...(body === undefined ? {} : { body: Uint8Array.from(body) }) }
  const response = await fetch(url, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} was answered ${response.status}: ${text.slice(0, 300)}`)
  return text
}
