/** Returns a `fetch` without a time limit. Node's own `fetch` gives up after five minutes. */
export async function patientFetch(): Promise<typeof fetch> {
  const undici = await import('undici')
  const dispatcher = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const send = undici.fetch as unknown as (input: unknown, init: object) => Promise<Response>
  return (input, init) => send(input, { ...init, dispatcher })
}
