import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Cluster, HoldfastClient, type User } from '../../client/index.ts'
import type { JobList } from './bulk/job-list.ts' // feature: bulk
import type { UploadQueue } from './content/upload-queue.ts'

/** A credential that the server has accepted. */
export interface SignedIn {
  /** An API key or a session token. */
  credential: string
  user: User
  kind: 'password' | 'key'
}

/** A pasted key is in no storage, cookie or URL. */
export interface PageSession {
  client: HoldfastClient
  user: User
  /** Empty if the key may not list clusters. */
  clusters: readonly Cluster[]
  /**
   * Base URL of the gateway on an origin of its own, from which the page shows content. Null if content shares the
   * console's origin.
   */
  gateway: string | null
  /** Uploads continue when the user changes the view. */
  uploads: UploadQueue
  // feature: bulk
  /** Jobs that change many pins. */
  jobs: JobList
  // end
  /** Deletes all records of a content, in one cluster or in all. */
  deleteContent: (cid: string, cluster: string | undefined) => Promise<unknown>
  /** A key has only its own scopes, and cannot do anything that requires the password. */
  kind: SignedIn['kind']
  /** Reloads `user` after a change of usage or profile. */
  refresh: () => void
  /** Asks the user to confirm a kept sign-in, by the named way. Resolves to whether the user did. */
  prove: (way: string) => Promise<boolean>
  /** Signs the user out of this tab, or out of all tabs and browsers. Asks first if uploads are in progress. */
  signOut: (isEverywhere?: boolean) => Promise<void>
}

export const SessionContext = createContext<PageSession | null>(null)

/** Throws if the component is not inside the view of a signed-in user. */
export function useSession(): PageSession {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('nobody is signed in')
  return session
}

/**
 * Creates a client for the node that serves the page, which may be mounted at any path.
 * @param onEnded called when the server refuses the key. An upload with progress has another way to the server
 */
export function newClient(key?: string, onEnded?: () => void): HoldfastClient {
  const base = new URL('../api/v3', document.baseURI).href
  const watched: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status === 401) onEnded?.()
    return answer
  }
  return new HoldfastClient({ base, key, headers: { 'x-request-source': 'web' }, fetch: watched })
}

/** Returns the base URL of the gateway on its own origin. */
export async function findGateway(): Promise<string | null> {
  const response = await fetch(new URL('gateway', document.baseURI))
  return response.ok ? (await response.text()).trim() : null
}

/** Returns the URL of a content at its cluster's gateway, or at the node's own if the former is unknown. */
export function contentUrl({ clusters }: PageSession, cid: string, clusterId: string): string {
  const gateway = clusters.find(({ id }) => id === clusterId)?.gateways[0]?.publicUrl
  return `${gateway ?? new URL('../ipfs/', document.baseURI).href}${cid}`
}
