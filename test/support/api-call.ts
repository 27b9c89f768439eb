import type { Engine } from '../../src/index.ts'

export interface ApiAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at, not typed
  json: any
}

/**
 * Calls an engine's API in-process. Header names are lower case. The entry `body` is not a header but the JSON to send.
 */
export async function callApi(
  engine: Pick<Engine, 'api'>,
  method: string,
  path: string,
  { body = '', ...headers }: Record<string, string> = {},
  remoteAddress = '127.0.0.1',
): Promise<ApiAnswer> {
  const [where = '', query = ''] = path.split('?')
  const response = await engine.api({
    method,
    path: `/api/v3${where}`,
    query,
    header: name => headers[name],
    body: (async function* () {
      if (body !== '') yield Buffer.from(body)
    })(),
    signal: new AbortController().signal,
    remoteAddress,
  })
  return { status: response.status, json: JSON.parse(String(response.body)) }
}
