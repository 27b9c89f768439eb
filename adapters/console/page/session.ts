import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Cluster, HoldfastClient, type User } from '../../client/index.ts'
import type { UploadQueue } from './content/upload-queue.ts'

/**
 * Who is signed in. The credential is inside the client and nowhere else: not in storage, not in a cookie, not in the
 * address; so a reload signs in again.
 */
export interface PageSession {
  client: HoldfastClient
  user: User
  /** Those that the plan allows; none for a key that may not ask. */
  clusters: readonly Cluster[]
  /** What is on its way up, whatever part of the page is shown. */
  uploads: UploadQueue
  /** A key may do only what its scopes allow, and nothing that takes a password. */
  kind: 'password' | 'key'
  /** Asks for the user anew, after what changes usage or profile. */
  refresh: () => void
  /** Takes the session for ended: the page asks to sign in again, and says why. */
  end: (reason?: string) => void
}

export const SessionContext = createContext<PageSession | null>(null)

/** Only below what is shown to somebody who is signed in. */
export function useSession(): PageSession {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('nobody is signed in')
  return session
}

/** A client of the node that the page comes from, wherever it is mounted. */
export function newClient(key?: string): HoldfastClient {
  const base = new URL('../api/v3', document.baseURI).href
  return new HoldfastClient({ base, key, headers: { 'x-request-source': 'web' } })
}

/** Where a content can be opened: below the gateway of its cluster, or below the node itself if that is not known. */
export function contentUrl({ clusters }: PageSession, cid: string, clusterId: string): string {
  const gateway = clusters.find(({ id }) => id === clusterId)?.gateways[0]?.publicUrl
  return `${gateway ?? new URL('../ipfs/', document.baseURI).href}${cid}`
}
