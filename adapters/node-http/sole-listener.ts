import { readFileSync, readlinkSync } from 'node:fs'
import type { Server } from 'node:net'

/** The system's lists of sockets, and the columns that matter. */
const LISTS = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
const ADDRESS = 1
const STATE = 3
const INODE = 9
const LISTENING = '0A'

interface Listener {
  /** In hexadecimal digits. */
  host: string
  port: string
  inode: string
}

/**
 * Returns whether no other socket listens on the port of a server that shares its port. The system gives a port also
 * to another program of the same user, if both share it. Returns true if the system does not list its sockets.
 */
export function isSoleListener(server: Server): boolean {
  const inode = inodeOf(server)
  const all = LISTS.flatMap(listenersIn)
  const own = all.find(listener => listener.inode === inode)
  return own === undefined || all.every(other => other === own || !overlaps(own, other))
}

function overlaps(own: Listener, other: Listener): boolean {
  return own.port === other.port && (own.host === other.host || isEvery(own.host) || isEvery(other.host))
}

function isEvery(host: string): boolean {
  return /^0+$/.test(host)
}

function listenersIn(path: string): Listener[] {
  return textOf(path)
    .split('\n')
    .flatMap(line => {
      const columns = line.trim().split(/\s+/)
      const [host, port] = columns[ADDRESS]?.split(':') ?? []
      const inode = columns[INODE]
      if (columns[STATE] !== LISTENING || host === undefined || port === undefined || inode === undefined) return []
      return [{ host, port, inode }]
    })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function inodeOf(server: Server): string | undefined {
  const { _handle: handle }: { _handle?: { fd?: number } | null } = server as Server & { _handle?: { fd?: number } }
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${handle?.fd}`))?.[1]
  } catch {
    return undefined
  }
}
