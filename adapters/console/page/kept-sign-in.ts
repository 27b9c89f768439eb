import { type HoldfastClient, isHoldfastError } from '../../client/index.ts'
import { newClient, type SignedIn } from './session.ts'

/** Content of the tab's storage: the token of a session, or a key that only keeps a sign-in. */
type Kept = Pick<SignedIn, 'credential' | 'kind'>

/** One name for each console, because an origin may have several. */
const NAME = `holdfast ${new URL('.', document.baseURI).pathname}`
const CLEARED = new URL('cleared', document.baseURI)
const PROBE = new URL('icon.svg', document.baseURI)
/** Codes of a credential that can no longer sign in. */
const ENDED = ['INVALID_API_KEY', 'account_disabled', 'IP_NOT_ALLOWED'] as const

/** Returns whether a reload may keep the sign-in: pages of content on this origin could read the storage. */
export function maySurvive(): boolean {
  return document.documentElement.dataset.content === 'apart'
}

/**
 * Keeps a sign-in for reloads of this tab, if no page of content can read the storage. Otherwise, or if the key may
 * create no keys, a reload signs the user out. Each tab has a key of its own, so a sign-in ends no other tab.
 *
 * @returns the sign-in to go on with; null if the key already keeps as many tabs as it may
 */
export async function keep(signedIn: SignedIn): Promise<SignedIn | null> {
  if (!maySurvive()) return signedIn
  const { credential, kind, user } = signedIn
  try {
    if (!(await clearOldPages())) return signedIn
    const token = kind === 'password' ? credential : (await newClient(credential).keys.createForConsole()).token
    const kept: Kept = { credential: token, kind }
    sessionStorage.setItem(NAME, JSON.stringify(kept))
    return { ...kept, user }
  } catch (error) {
    forget()
    return isHoldfastError(error, 'QUOTA_EXCEEDED') ? null : signedIn
  }
}

/** Returns whether the tab has a sign-in from before the reload. */
export function isKept(): boolean {
  return keptHere() !== null
}

/** Returns the sign-in from before the reload. Returns null if it has ended. */
export async function resume(): Promise<SignedIn | null> {
  const kept = keptHere()
  if (kept === null) return null
  try {
    return { ...kept, user: await newClient(kept.credential).account.show() }
  } catch (error) {
    if (!ENDED.some(code => isHoldfastError(error, code))) throw error
    forget()
    return null
  }
}

export function forget(): void {
  sessionStorage.removeItem(NAME)
}

/** Signs out on the server as well, where the kept credential ends. */
export async function signOut(credential: string): Promise<void> {
  forget()
  await newClient(credential).sessions.signOut()
}

/** Ends all sign-ins of the account with this key, or all sessions. */
export async function signOutEverywhere({ sessions, keys }: HoldfastClient, kind: SignedIn['kind']): Promise<void> {
  if (kind === 'key') await keys.endConsoles()
  else {
    await sessions.endOthers()
    await sessions.signOut()
  }
  forget()
}

function keptHere(): Kept | null {
  if (!maySurvive()) forget()
  const text = sessionStorage.getItem(NAME)
  if (text === null) return null
  try {
    const { credential, kind }: Partial<Kept> = JSON.parse(text)
    if (typeof credential === 'string' && (kind === 'password' || kind === 'key')) return { credential, kind }
  } catch {
    // Another page of this origin has written it.
  }
  return null
}

/**
 * Removes pages and service workers that the browser has of older versions. They run on this origin without a sandbox.
 * Returns false if the browser does not obey.
 */
export async function clearOldPages(): Promise<boolean> {
  const workers = (await navigator.serviceWorker?.getRegistrations()) ?? []
  await Promise.all(workers.map(worker => worker.unregister()))
  // Replaces an error that the browser has cached in an outage. The cache has the answer only after its last byte.
  await fetch(PROBE, { cache: 'reload' }).then(answer => answer.blob())
  const wasCached = await isCached(PROBE)
  await fetch(CLEARED, { cache: 'no-store' })
  return wasCached && !(await isCached(PROBE))
}

async function isCached(file: URL): Promise<boolean> {
  return fetch(file, { cache: 'only-if-cached', mode: 'same-origin' }).then(
    ({ ok }) => ok,
    () => false,
  )
}
