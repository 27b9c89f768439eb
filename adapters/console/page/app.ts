import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import {
  type Cluster,
  type HoldfastClient,
  isHoldfastError,
  type SendOptions,
  type TargetOptions,
  type Upload,
  type User,
} from '../../client/index.ts'
import { JobList } from './bulk/job-list.ts' // feature: bulk
import { ContentView } from './content/content-view.ts'
import { PinView } from './content/pin-view.ts'
import { type Source, UploadQueue } from './content/upload-queue.ts'
import { forget, isKept, maySurvive, resume, signOutEverywhere, signOut as signOutKept } from './kept-sign-in.ts'
import { html } from './markup.ts'
import { type PageRoute, routeTo, useRoute } from './page-route.ts'
import { ProofDialog, type ProofDialogProps } from './proof-dialog.ts'
import { findGateway, newClient, type PageSession, SessionContext, type SignedIn } from './session.ts'
import { Shortcuts } from './shortcuts.ts'
import { Brand, SignInView } from './sign-in-view.ts'
import { lazily } from './widgets/lazily.ts'
import { Notices } from './widgets/notices.ts'
import { wordsFor } from './words.ts'

const AccountView = lazily(() => import('./account/account-view.ts').then(({ AccountView }) => AccountView))
const OwnerView = lazily(() => import('./owner/owner-view.ts').then(({ OwnerView }) => OwnerView))

const ENDED = 'Your session has ended. Sign in again.'

export function App() {
  const [signedIn, setSignedIn] = useState<SignedIn | null>(null)
  const [isResuming, setResuming] = useState(isKept)
  const [reason, setReason] = useState<string | null>(null)
  // They outlast the end of a session, and go on when the same user signs in again.
  const client = useRef<HoldfastClient | null>(null)
  const uploads = useMemo(() => {
    return new UploadQueue(async (source, options) => {
      const used = client.current
      try {
        return await upload(used, source, options)
      } catch (error) {
        if (isHoldfastError(error, 'INVALID_API_KEY') && used === client.current) end(ENDED)
        throw error
      }
    })
  }, [])
  const userId = useRef<string | null>(null)
  const begin = (next: SignedIn): void => {
    if (userId.current !== next.user.id) drop(uploads)
    userId.current = next.user.id
    setSignedIn(next)
  }
  const end = (why?: string): void => {
    forget()
    client.current = null
    uploads.pause()
    setReason(why ?? null)
    setSignedIn(null)
  }
  useLayoutEffect(() => guard(uploads), [uploads])
  useEffect(() => {
    if (!isResuming) return
    const resumed = resume().then(
      found => found && begin(found),
      error => setReason(wordsFor(error)),
    )
    void resumed.then(() => setResuming(false))
  }, [])
  const token = passwordToken(useRoute())
  if (isResuming) return html`<main class="alone"><${Brand} /><p class="empty" role="status">Signing in…</p></main>`
  return html`<div>
    ${
      signedIn === null || token !== null
        ? html`<${SignInView} reason=${reason} token=${token} waiting=${uploads.unfinished} onSignedIn=${begin} />`
        : html`<${Inside} key=${signedIn.credential} signedIn=${signedIn} uploads=${uploads} clientOfUploads=${client} onEnd=${end} />`
    }
    <${Notices} />
  </div>`
}

/** Returns the token of a link that sets a password. The link also works in a tab where somebody is signed in. */
function passwordToken({ path, query }: PageRoute): string | null {
  return path[0] === 'password' ? query.get('token') : null
}

/** Cancels and forgets all uploads. */
function drop(uploads: UploadQueue): void {
  uploads.cancelAll()
  uploads.clear()
}

/** Asks before the page is left during uploads. Keeps the browser from leaving the page for a dropped file. */
function guard(uploads: UploadQueue): () => void {
  const ask = (event: BeforeUnloadEvent): void => {
    if (uploads.isBusy) event.preventDefault()
  }
  const keep = (event: DragEvent): void => event.preventDefault()
  addEventListener('beforeunload', ask)
  addEventListener('dragover', keep)
  addEventListener('drop', keep)
  return () => {
    removeEventListener('beforeunload', ask)
    removeEventListener('dragover', keep)
    removeEventListener('drop', keep)
  }
}

interface InsideProps {
  signedIn: SignedIn
  uploads: UploadQueue
  /** Gets the client that sends the uploads. */
  clientOfUploads: { current: HoldfastClient | null }
  onEnd: (reason?: string) => void
}

function Inside({ signedIn, uploads, clientOfUploads, onEnd }: InsideProps) {
  const { credential, kind } = signedIn
  const [user, setUser] = useState<User>(signedIn.user)
  // Every view reads by this client, so none shows what an ended session has left.
  const client = useMemo(() => {
    const made = newClient(credential, () => {
      // A late answer may belong to a session before this one.
      if (clientOfUploads.current === made) onEnd(ENDED)
    })
    return made
  }, [credential])
  const [clusters, setClusters] = useState<readonly Cluster[]>([])
  const [gateway, setGateway] = useState<string | null>(null)
  const refresh = (): void => void client.account.show().then(setUser, () => undefined)
  let deleteContent: PageSession['deleteContent'] = (cid, cluster) => client.pins.remove(cid, { cluster })
  // feature: bulk
  const jobs = useMemo(() => new JobList(client), [client])
  deleteContent = (cid, cluster) => jobs.deleteContent(cid, cluster)
  useEffect(() => {
    // A key without `files:read` lists no jobs.
    void jobs.resume().catch(() => undefined)
    return () => jobs.stop()
  }, [jobs])
  // end
  useEffect(() => {
    // Listing fails for a key without `cluster:read`. Links then lead to the node's own gateway.
    void client.account.clusters().then(setClusters, () => undefined)
    if (maySurvive()) void findGateway().then(setGateway, () => undefined)
    clientOfUploads.current = client
    uploads.resume()
    // Another tab may have ended this session since.
    const look = (): void => {
      if (document.visibilityState === 'visible') refresh()
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      uploads.pause()
    }
  }, [client])
  const [asked, setAsked] = useState<ProofDialogProps | null>(null)
  const prove = (way: string): Promise<boolean> =>
    new Promise(resolve => {
      const onEnd = (isProved: boolean): void => {
        setAsked(null)
        resolve(isProved)
      }
      setAsked({ way, onEnd })
    })
  const signOut = async (isEverywhere = false): Promise<void> => {
    if (uploads.isBusy && !confirm('Uploads are in progress. Sign out and cancel them?')) return
    if (isEverywhere) await signOutEverywhere(client, kind)
    else await signOutKept(credential).catch(() => undefined)
    drop(uploads)
    // The next user to sign in starts at the first view.
    location.hash = '#/'
    onEnd()
  }
  const session: PageSession = {
    client,
    user,
    clusters,
    gateway,
    uploads,
    jobs, // feature: bulk
    deleteContent,
    kind,
    refresh,
    prove,
    signOut,
  }
  const route = useRoute()
  return html`<${SessionContext.Provider} value=${session}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Header} route=${route} user=${user} onSignOut=${() => signOut()} />
    <main id="main" tabindex="-1"><${Place} route=${route} /></main>
    <${Shortcuts} />
    ${asked && html`<${ProofDialog} ...${asked} />`}
  </${SessionContext.Provider}>`
}

async function upload(
  client: HoldfastClient | null,
  source: Source,
  options: TargetOptions & SendOptions,
): Promise<Upload> {
  const { content, name } = source
  if (client === null) throw new Error('nobody is signed in')
  return 'file' in content
    ? client.files.upload(content.file, { ...options, name })
    : client.files.uploadDirectory(content.files, { ...options, name })
}

/** Moves the focus to the content. A normal link would change the hash, and so the route. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function Header({ route, user, onSignOut }: { route: PageRoute; user: User; onSignOut: () => void }) {
  const [top = 'content'] = route.path
  const link = (to: string, words: string) =>
    html`<a href=${routeTo([to])} aria-current=${top === to || (to === 'content' && top === 'pin') ? 'page' : undefined}>${words}</a>`
  return html`<header class="row top">
    <a class="row brand" href="#/"><img src="icon.svg" alt="" width="24" height="24" /> Holdfast</a>
    <nav class="row" aria-label="Main">${link('content', 'Content')} ${link('account', 'Account')}
      ${user.role === 'owner' && link('owner', 'Node')}</nav>
    <span class="who" title=${user.email}>${user.name}</span>
    <button class="plain" onClick=${onSignOut}>Sign out</button>
  </header>`
}

const TITLES: Readonly<Record<string, string>> = { content: 'Content', pin: 'A pin', account: 'Account', owner: 'Node' }

function Place({ route }: { route: PageRoute }) {
  const [top = 'content', second] = route.path
  // A normal effect runs after the paint, and would take the focus from an element that the user has reached since.
  useLayoutEffect(() => {
    document.title = `${TITLES[top] ?? 'Not found'} – Holdfast`
    // The focused element disappeared together with the previous view.
    document.getElementById('main')?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [top, top === 'pin' && second])
  if (top === 'content') return html`<${ContentView} />`
  if (top === 'pin' && second !== undefined) {
    const cluster = route.query.get('cluster') ?? undefined
    return html`<${PinView} key=${`${second} ${cluster}`} cid=${second} cluster=${cluster} />`
  }
  if (top === 'owner') return html`<${OwnerView} section=${second} />`
  if (top === 'account') return html`<${AccountView} section=${second} />`
  return html`<section class="card"><h1>Nothing here</h1><p><a href="#/">To the content</a></p></section>`
}
