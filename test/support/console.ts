import { type ConsoleOptions, createConsole } from '../../adapters/console/index.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/index.ts'

const consoles = new Map<string, ApiHandler>()

/** Returns a request for the console as an adapter would build it. */
export function consoleRequest(path: string, given: Partial<ApiRequest> = {}, headers = {}): ApiRequest {
  const sent: Readonly<Record<string, string>> = { host: '127.0.0.1:4100', ...headers }
  return {
    method: 'GET',
    path,
    query: '',
    header: name => sent[name],
    body: (async function* () {})(),
    signal: AbortSignal.timeout(60_000),
    scheme: 'http',
    remoteAddress: '127.0.0.1',
    ...given,
  }
}

export function askConsole(
  request: ApiRequest,
  trustedProxies = 0,
  options: ConsoleOptions = {},
): Promise<ApiResponse> {
  const which = JSON.stringify([trustedProxies, options])
  const answer =
    consoles.get(which) ?? createConsole({ trustedProxies, signInProvider: null, documentsAt: () => null }, options)
  consoles.set(which, answer)
  return answer(request)
}
