import { useEffect, useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
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

/** Folds several uploads into one bar. One upload, and failed ones, are shown at once. */
export function UploadsView() {
  const { uploads: queue } = useSession()
  const uploads = useUploads()
  const [isOpen, setOpen] = useState<boolean | null>(null)
  if (uploads.length === 0) return null
  const count = (wanted: UploadState) => uploads.filter(({ state }) => state === wanted).length
  const failed = count('failed')
  const isShown = isOpen ?? (uploads.length === 1 || failed > 0)
  const words = `${shownCount(count('done'))} of ${plural(uploads.length, 'upload')} done`
  const clear = (): void => {
    queue.clear()
    setOpen(null)
  }
  return html`<section class="card" aria-labelledby="uploads-title">
    <div class="buttons spread">
      <h2 id="uploads-title">Uploads <span class="count" role="status">${words}${failed > 0 && `, ${shownCount(failed)} failed`}</span></h2>
      ${
        uploads.length > 1 &&
        html`<button class="small" aria-expanded=${isShown ? 'true' : 'false'} aria-controls="uploads-list"
          onClick=${() => setOpen(!isShown)}>${isShown ? 'Hide uploads' : 'Show uploads'}</button>`
      }
      ${queue.isBusy && html`<button class="small" onClick=${() => queue.cancelAll()}>Cancel all</button>`}
      <button class="small" onClick=${clear}>Clear</button>
    </div>
    ${!isShown && queue.isBusy && html`<${Whole} uploads=${uploads} />`}
    <div id="uploads-list">${isShown && html`<${List} uploads=${uploads} />`}</div>
  </section>`
}

/** Progress of all uploads together, by bytes. */
function Whole({ uploads }: { uploads: readonly QueuedUpload[] }) {
  const counted = uploads.filter(({ state }) => state !== 'failed' && state !== 'cancelled')
  const all = counted.reduce((sum, { source }) => sum + source.size, 0)
  const sent = counted.reduce((sum, { source, sent }) => sum + Math.min(sent, source.size), 0)
  const speed = counted.reduce((sum, upload) => sum + (upload.speed ?? 0), 0)
  const problem = counted.find(({ error }) => error !== null)?.error ?? null
  return html`<div>
    <progress aria-label="All uploads" max=${Math.max(all, 1)} value=${sent}></progress>
    <p class="hint">${shownBytes(sent)} of ${shownBytes(all)}${paceOf(all - sent, speed)}</p>
    <${FieldProblem} text=${problem} />
  </div>`
}

function List({ uploads }: { uploads: readonly QueuedUpload[] }) {
  const shown = uploads.toSorted((a, b) => FIRST[a.state] - FIRST[b.state] || a.id - b.id).slice(0, MOST_SHOWN)
  return html`<div>
    <ul class="uploads">${shown.map(upload => html`<${Row} key=${upload.id} upload=${upload} />`)}</ul>
    ${uploads.length > shown.length && html`<p class="hint">and ${plural(uploads.length - shown.length, 'other')}</p>`}
  </div>`
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
    <${FieldProblem} text=${error} />
  </li>`
}

function wordsOn({ source: { size, content }, state, sent, speed }: QueuedUpload): string {
  const what = 'files' in content ? `${plural(content.files.length, 'file')}, ${shownBytes(size)}` : shownBytes(size)
  if (state === 'waiting') return `${what} · waiting`
  if (state === 'cancelled') return `${what} · cancelled`
  if (state === 'storing') return `${what} · being stored`
  if (state !== 'sending') return what
  return `${shownBytes(Math.min(sent, size))} of ${what}${paceOf(size - sent, speed ?? 0)}`
}

/** @param speed in bytes per second */
function paceOf(bytesLeft: number, speed: number): string {
  return speed <= 0 ? '' : ` · ${shownBytes(speed)}/s, ${formatDuration(bytesLeft / speed)} left`
}
