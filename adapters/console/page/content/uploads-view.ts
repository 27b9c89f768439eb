import { useEffect, useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { useSession } from '../session.ts'
import { formatDuration, plural, shownBytes, shownCount } from '../widgets/shown-values.ts'
import type { QueuedUpload, UploadState } from './upload-queue.ts'

/** Maximum number of uploads shown. Failed uploads come first, then unfinished ones. */
const MOST_SHOWN = 30
const FIRST: Readonly<Record<UploadState, number>> = {
  failed: 0,
  sending: 1,
  storing: 1,
  waiting: 2,
  cancelled: 3,
  done: 4,
}

export function UploadsView() {
  const { uploads: queue } = useSession()
  const uploads = useUploads()
  if (uploads.length === 0) return null
  const done = uploads.filter(({ state }) => state === 'done').length
  const shown = uploads.toSorted((a, b) => FIRST[a.state] - FIRST[b.state] || a.id - b.id).slice(0, MOST_SHOWN)
  const words = `${shownCount(done)} of ${plural(uploads.length, 'upload')} done`
  return html`<section class="card" aria-labelledby="uploads-title">
    <div class="buttons spread">
      <h2 id="uploads-title">Uploads <span class="count" role="status">${words}</span></h2>
      ${queue.isBusy && html`<button class="small" onClick=${() => queue.cancelAll()}>Cancel all</button>`}
      <button class="small" onClick=${() => queue.clear()}>Clear</button>
    </div>
    <ul class="uploads">${shown.map(upload => html`<${Row} key=${upload.id} upload=${upload} />`)}</ul>
    ${uploads.length > shown.length && html`<p class="hint">and ${plural(uploads.length - shown.length, 'other')}</p>`}
  </section>`
}

export function useUploads(): readonly QueuedUpload[] {
  const { uploads: queue } = useSession()
  const [uploads, setUploads] = useState(queue.uploads)
  useEffect(() => {
    // Progress events arrive very often, so the component redraws at most once per frame.
    let frame = 0
    const follow = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => setUploads(queue.uploads))
    }
    follow()
    const end = queue.subscribe(follow)
    return () => {
      cancelAnimationFrame(frame)
      end()
    }
  }, [queue])
  return uploads
}

function Row({ upload }: { upload: QueuedUpload }) {
  const { uploads: queue } = useSession()
  const { id, source, state, sent, error, result } = upload
  const { name, size } = source
  const mayEnd = state === 'waiting' || state === 'sending' || state === 'storing'
  const mayRetry = state === 'failed' || state === 'cancelled'
  const title =
    result === null
      ? html`<strong>${name}</strong>`
      : html`<a href=${routeTo(['pin', result.cid], { cluster: result.clusterId })}><strong>${name}</strong></a>`
  const act = (verb: string, run: () => void) =>
    html`<button class="small" aria-label=${`${verb} ${name}`} onClick=${run}>${verb}</button>`
  return html`<li>
    <div class="what">${title} <span class="under">${wordsOn(upload)}</span></div>
    <div>
      ${mayEnd && act('Cancel', () => queue.cancel(id))} ${mayRetry && act('Retry', () => queue.retry(id))}
      ${state === 'done' && html`<span class="badge good">Pinned</span>`}
    </div>
    ${(state === 'sending' || state === 'storing') && html`<progress aria-label=${`Upload of ${name}`} max=${Math.max(size, 1)} value=${Math.min(sent, Math.max(size, 1))}></progress>`}
    ${error !== null && html`<p class="problem" role="alert">${error}</p>`}
  </li>`
}

function wordsOn({ source: { size, content }, state, sent, speed }: QueuedUpload): string {
  const what = 'files' in content ? `${plural(content.files.length, 'file')}, ${shownBytes(size)}` : shownBytes(size)
  if (state === 'waiting') return `${what} · waiting`
  if (state === 'cancelled') return `${what} · cancelled`
  if (state === 'storing') return `${what} · being stored`
  if (state !== 'sending') return what
  const pace =
    speed === null || speed <= 0 ? '' : ` · ${shownBytes(speed)}/s, ${formatDuration((size - sent) / speed)} left`
  return `${shownBytes(Math.min(sent, size))} of ${what}${pace}`
}
