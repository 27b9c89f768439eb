import type { CID } from 'multiformats/cid'
import type { PortAnswers, PortCalls } from '../../concurrency/port-calls.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { cidOfText, HASH } from '../../ipld/cid.ts'
import type { ContentOrigin, HeldContent } from './request-blocks.ts'

export type AskedKind = 'network' | 'nodes'

interface Session {
  id: number
  /** Time when the content expires, in ms since the epoch; null if unknown. */
  liveUntil: number | null
}

/** Content that a reader thread requests from the main thread, with one session for each response. */
export class AskedContent implements ContentOrigin {
  readonly isForRecords: boolean
  readonly #calls: PortCalls
  readonly #name: (question: string) => string

  /** @param kind must equal the `kind` of {@link answersFrom} in the main thread */
  constructor(calls: PortCalls, kind: AskedKind) {
    this.#calls = calls
    this.isForRecords = kind === 'nodes'
    this.#name = question => `${kind} ${question}`
  }

  async open(root: CID, signal: AbortSignal): Promise<HeldContent | null> {
    const session = (await this.#calls.ask(this.#name('open'), root.toString(), signal)) as Session | null
    if (session === null) return null
    const { id, liveUntil } = session
    let isOpen = true
    return {
      isLocal: false,
      liveUntil,
      get: cid => this.#get(id, cid, signal),
      sizeOf: () => null,
      release: () => {
        if (isOpen) void this.#calls.ask(this.#name('close'), id).catch(() => undefined)
        isOpen = false
      },
    }
  }

  async #get(session: number, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    return (await this.#calls.ask(this.#name('get'), { session, cid: cid.toString() }, signal)) as Uint8Array
  }
}

/** Answers the calls of {@link AskedContent} in the main thread. Call `end` to close all sessions. */
export function answersFrom(origin: ContentOrigin, kind: AskedKind): { answers: PortAnswers; end: () => void } {
  const sessions = new Map<number, { held: HeldContent; over: AbortController }>()
  let last = 0
  const close = (id: number): void => {
    const session = sessions.get(id)
    sessions.delete(id)
    session?.over.abort()
    session?.held.release()
  }
  const answers: PortAnswers = {
    [`${kind} open`]: async (root: string, signal: AbortSignal): Promise<Session | null> => {
      const over = new AbortController()
      const abort = (): void => over.abort(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      const held = await origin.open(cidOfText(root), over.signal)
      signal.removeEventListener('abort', abort)
      if (held === null) return null
      const id = ++last
      sessions.set(id, { held, over })
      if (signal.aborted) close(id)
      return { id, liveUntil: held.liveUntil }
    },
    [`${kind} get`]: async ({ session, cid }: { session: number; cid: string }): Promise<Uint8Array> => {
      const held = sessions.get(session)?.held
      if (held === undefined) throw new HoldfastError('ABORTED', 'the answer has ended')
      return ownMemory(await held.get(cidOfText(cid)))
    },
    [`${kind} close`]: close,
  }
  return {
    answers,
    end: () => {
      for (const id of [...sessions.keys()]) close(id)
    },
  }
}

/** Copies bytes of a larger buffer. A transfer to another thread would otherwise include the rest of the buffer. */
export function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
