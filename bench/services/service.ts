/** A request for any load client. */
export interface Call {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
}

/** A pinning service in its own processes, with the requests of the benches in its protocol. */
export interface Service {
  /** Ids of its processes. Measurements include their children. */
  readonly pids: readonly number[]
  /** Returns the request for an upload of a form with one file, or with the files of a directory. */
  upload(kind: 'file' | 'tree'): Call
  rootOf(answer: string): string
  /** True if its roots equal those of the other services at any size. */
  readonly isComparable: boolean
  /** Resolves when its gateway serves at full speed. Called before the first read. */
  startReading?(): Promise<void>
  /** Returns the request for content below `/ipfs/` from its gateway. */
  read?(path: string): Call
  status?(cid: string): Call
  list?(limit: number): Call
  remove(cid: string): Call
  collect?(): Promise<void>
  stop(): Promise<void>
}

/** A kind of service. `start` uses an existing empty directory. The caller stops the service. */
export interface ServiceKind {
  readonly name: string
  start(dir: string): Promise<Service>
}

/** @throws Error for an unsuccessful answer */
export async function call({ method, url, headers }: Call, body?: Uint8Array): Promise<string> {
  const init = { method, headers, ...(body === undefined ? {} : { body: Uint8Array.from(body) }) }
  const response = await fetch(url, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} was answered ${response.status}: ${text.slice(0, 300)}`)
  return text
}
