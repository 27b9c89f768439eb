import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type ErrorCode, HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { Semaphore } from './capacity/semaphore.ts'

type Question = { id: number; name: string; argument: unknown } | { id: number; name: null }
type Answer = { id: number; value: unknown } | { id: number; error: SentError }

interface SentError {
  code: ErrorCode | null
  message: string
  details: HoldfastError['details']
}

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/**
 * Calls functions in another thread. The number of open calls is limited by function name, and further calls wait in
 * order.
 */
export class PortCalls {
  readonly #port: MessagePort
  readonly #bounds: ReadonlyMap<string, Semaphore>
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #isClosed = false

  /** @param bounds maximum number of open calls by function name; other functions have no limit */
  constructor(port: MessagePort, bounds: Readonly<Record<string, number>>) {
    this.#port = port
    this.#bounds = new Map(Object.entries(bounds).map(([name, atOnce]) => [name, new Semaphore(atOnce)]))
    port.on('message', (answer: Answer) => {
      const pending = this.#pending.get(answer.id)
      this.#pending.delete(answer.id)
      if ('error' in answer) pending?.reject(received(answer.error))
      else pending?.resolve(answer.value)
    })
    port.on('close', () => {
      this.#isClosed = true
      for (const { reject } of this.#pending.values()) reject(closed())
      this.#pending.clear()
    })
  }

  /**
   * Calls a function in the other thread. Argument and result must be cloneable.
   * @throws the HoldfastError that the function threw; HoldfastError `UNAVAILABLE` if the other thread has ended; the
   * reason of the signal
   */
  ask(name: string, argument: unknown, signal?: AbortSignal): Promise<unknown> {
    const bound = this.#bounds.get(name)
    const ask = (): Promise<unknown> => this.#ask(name, argument, signal)
    return bound === undefined ? ask() : bound.hold(1, ask)
  }

  async #ask(name: string, argument: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closed()
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const abort = (): void => {
      if (!this.#pending.delete(id)) return
      this.#port.postMessage({ id, name: null } satisfies Question)
      reject(signal?.reason)
    }
    this.#pending.set(id, { resolve, reject })
    signal?.addEventListener('abort', abort, { once: true })
    this.#port.postMessage({ id, name, argument } satisfies Question)
    return promise.finally(() => signal?.removeEventListener('abort', abort))
  }
}

/** The signal aborts when the caller no longer waits. */
export type PortAnswers = Readonly<Record<string, (argument: never, signal: AbortSignal) => unknown>>

/**
 * Answers the calls of {@link PortCalls} at the other end of a port, until the port closes. Returns a function that
 * still makes the calls that have arrived, and then closes the port.
 */
export function answerCalls(port: MessagePort, answers: PortAnswers): () => void {
  const open = new Map<number, AbortController>()
  const answer = async (question: Exclude<Question, { name: null }>, signal: AbortSignal): Promise<Answer> => {
    const { id, name, argument } = question
    try {
      return { id, value: await answers[name]?.(argument as never, signal) }
    } catch (error) {
      return { id, error: sent(error) }
    }
  }
  const take = (question: Question): void => {
    if (question.name === null) {
      open.get(question.id)?.abort()
      return
    }
    const asked = new AbortController()
    open.set(question.id, asked)
    void answer(question, asked.signal).then(made => {
      open.delete(question.id)
      if (!asked.signal.aborted) port.postMessage(made)
    })
  }
  port.on('message', take)
  port.on('close', () => {
    for (const asked of open.values()) asked.abort()
  })
  return () => {
    for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) take(got.message)
    port.close()
  }
}

function sent(error: unknown): SentError {
  if (isHoldfastError(error)) return { code: error.code, message: error.message, details: error.details }
  return { code: null, message: error instanceof Error ? error.message : String(error), details: {} }
}

function received({ code, message, details }: SentError): Error {
  return code === null ? new Error(message) : new HoldfastError(code, message, { details })
}

function closed(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the node is stopping')
}
