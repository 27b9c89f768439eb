import { once } from 'node:events'
import { type Agent, type IncomingMessage, request } from 'node:http'
import type { Call } from '../services/service.ts'
import { RandomForm } from './random-form.ts'

/** A request that a client repeats. */
export interface Repeated {
  call: Call
  /** Size of the random file in its form. Absent for a request without a body. */
  fileBytes?: number
}

/** Sends a request, and discards the answer. @throws Error for an unsuccessful answer */
export async function ask(agent: Agent, { call, fileBytes }: Repeated): Promise<void> {
  const form = fileBytes === undefined ? undefined : new RandomForm(fileBytes)
  const outgoing = request(call.url, { method: call.method, agent, headers: { ...call.headers, ...form?.headers } })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  if (form === undefined) outgoing.end()
  const [[response]] = await Promise.all([answered, form?.writeTo(outgoing)])
  const { statusCode = 0 } = response
  const ended = once(response.resume(), 'end')
  await ended
  if (statusCode < 200 || statusCode >= 300) throw new Error(`${call.method} ${call.url} was answered ${statusCode}`)
}
