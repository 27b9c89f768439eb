import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Cluster, HoldfastClient, type User } from '../../client/index.ts'
import type { UploadQueue } from './content/upload-queue.ts'

/**
 * The signed-in user. Only the client holds the credential: no storage, cookie or address has it. So a reload requires
 * a new sign-in.
 */
export interface PageSession {
  client: HoldfastClient
  user: User
  /** Clusters of the plan; none for a key that may not list them. */
  clusters: readonly Cluster[]
  /** Uploads, which continue in every view. */
  uploads: UploadQueue
  /** A key has only its scopes, and nothing that needs a password. */
  kind: 'password' | 'key'
  /** Reloads the user, after a change of usage or profile. */
  refresh: () => void
  /** Ends the session: the page asks to sign in again, and shows the reason. */
  end: (reason?: string) => void
}

export const SessionContext = createContext<PageSession | null>(null)

/** Valid only below the view of a signed-in user. */
export function useSession(): PageSession {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('nobody is signed in')
  return session
}

/** Makes a client of the node that serves the page, at any mount path. */
export function newClient(key?: string): HoldfastClient {
  const base = new URL('../api/v3', document.baseURI).href
  return new HoldfastClient({ base, key, headers: { 'x-request-source': 'web' } })
}

/** Returns the link to a content: at the gateway of its cluster, or of the node itself if that is unknown. */
export function contentUrl({ clusters }: PageSession, cid: string, clusterId: string): string {
  const gateway = clusters.find(({ id }) => id === clusterId)?.gateways[0]?.publicUrl
  return `${gateway ?? new URL('../ipfs/', document.baseURI).href}${cid}`
}
