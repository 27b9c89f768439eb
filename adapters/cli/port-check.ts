import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { listen } from './listener.ts'

/** Returns null if a server could listen at this address, or else the error code of the system. */
export async function portProblem(host: string, port: number): Promise<string | null> {
  const server = createServer()
  try {
    await listen(server, host, port)
    return null
  } catch (error) {
    const { code = String(error) } = (error as { cause?: { code?: string } }).cause ?? {}
    return code
  } finally {
    server.close()
  }
}

/** Returns the process that listens on a port, as `nginx (pid 12)`. Null if it is unknown, as another user's can be. */
export function listenerOf(port: number): string | null {
  try {
    const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
    const rows = ['tcp', 'tcp6'].flatMap(name => readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n'))
    const inodes = rows
      .map(row => row.trim().split(/\s+/))
      .filter(([, address, , state]) => address?.endsWith(wanted) === true && state === '0A')
      .map(columns => `socket:[${columns[9]}]`)
    const pid = readdirSync('/proc').find(name => /^\d+$/.test(name) && hasSocket(name, inodes))
    return pid === undefined ? null : `${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (pid ${pid})`
  } catch {
    return null
  }
}

function hasSocket(pid: string, inodes: readonly string[]): boolean {
  try {
    const directory = `/proc/${pid}/fd`
    return readdirSync(directory).some(name => inodes.includes(readlinkSync(`${directory}/${name}`)))
  } catch {
    return false
  }
}
