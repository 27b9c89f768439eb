import { listenAddresses } from '../../src/domain/listen-addresses.ts'
import { type CheckResult, fault, fine, warning } from './check-result.ts'
import { listenerOf, portProblem } from './port-check.ts'
import { networkOf, type ServerSettings } from './settings.ts'

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

/** Matches the addresses of the network on which a check can listen. */
const FAMILIES = [/^\/ip4\/([^/]+)\/tcp\/([1-9]\d*)/, /^\/ip6\/([^/]+)\/tcp\/([1-9]\d*)/]

/**
 * Checks whether the network can listen. Listens for a moment on each TCP address. The start tolerates that a machine
 * has no IPv6 if it listens on IPv4.
 */
export async function checkNetworkPorts({ config }: ServerSettings): Promise<CheckResult> {
  const network = networkOf(config)
  if (network.enabled !== true) return fine('network', 'off')
  const listen = listenAddresses(network)
  const families = FAMILIES.map(pattern => listen.map(address => pattern.exec(address)).filter(found => found !== null))
  const wanted = families.find(found => found.length > 0) ?? []
  const problems = await Promise.all(wanted.map(([, host = '', port]) => portProblem(host, Number(port))))
  const problem = problems.find(found => found !== null)
  if (problem === undefined) return fine('network', 'its ports are free')
  const text = `network.listen: cannot listen on ${listen.join(', ')}`
  return fault('network', `${text} (${problem})`, 'stop the other program, or choose other addresses')
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
