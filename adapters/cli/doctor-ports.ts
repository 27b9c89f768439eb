import { type CheckResult, fault, fine, warning } from './check-result.ts'
import { listenerOf, portProblem } from './port-check.ts'
import type { ServerSettings } from './settings.ts'

const OTHER_PORT = 'stop it, or choose another port with --port or --gateway-port'

/** Checks whether the next start can listen on each port. Listens for a moment on each. */
export async function checkFreePorts({
  host,
  port,
  gatewayPort,
  metricsAddress,
}: ServerSettings): Promise<CheckResult[]> {
  const wanted = [{ host, port }, ...(gatewayPort === null ? [] : [{ host, port: gatewayPort }])]
  if (port !== 0 && port === gatewayPort) {
    return [fault(`port ${port}`, 'both the API and the gateway have it', 'choose another --gateway-port')]
  }
  if (metricsAddress !== undefined) wanted.push(metricsAddress)
  return Promise.all(wanted.map(each => checkPort(each.host, each.port)))
}

async function checkPort(host: string, port: number): Promise<CheckResult> {
  const check = `port ${port}`
  if (port === 0) return fine(check, 'the start takes any free port')
  const problem = await portProblem(host, port)
  if (problem === null) return fine(check, 'free')
  if (problem === 'EADDRINUSE') return fault(check, `taken by ${listenerOf(port) ?? 'another program'}`, OTHER_PORT)
  const remedy = 'choose a --host of this machine, and a port from 1024'
  return fault(check, `cannot listen on ${host}: ${problem}`, remedy)
}

/** Checks that something listens on the gateway's port of a running server. */
export async function checkGatewayPort({ host, gatewayPort }: ServerSettings): Promise<CheckResult[]> {
  if (gatewayPort === null || gatewayPort === 0) return []
  const check = `port ${gatewayPort}`
  if ((await portProblem(host, gatewayPort)) !== null) return [fine(check, 'the gateway listens')]
  const text = 'free: the running server has no gateway port of its own'
  return [warning(check, text, 'restart the server, with the same --gateway-port')]
}
