import { useEffect } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ListedUpload, Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { contentUrl, useSession } from '../session.ts'
import { PrivateBadge, StateBadge } from '../widgets/badge.ts'
import { Card } from '../widgets/card.ts'
import { CopyButton } from '../widgets/copy-button.ts'
import { FieldProblem } from '../widgets/field.ts'
import { lazily } from '../widgets/lazily.ts'
import { formatAge, formatInstant, plural, shortCid, shownBytes } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'
import { wordsFor } from '../words.ts'
import { NoPeers } from './no-peers.ts'
import { DeleteButton, RenameButton } from './pin-actions.ts'
import { PinContents } from './pin-contents.ts'
import { PinMeta } from './pin-meta-view.ts'
import { PinRecords } from './pin-records.ts'

/**
 * Times after which the status reloads. The first is for a pin in progress, the second for a failed pin that the server
 * retries.
 */
const LOOK_MS = 1_500
const LATER_LOOK_MS = 10_000
const MOST_RECORDS = 100

const OwnContents = lazily(() => import('./own-content.ts').then(({ OwnContents }) => OwnContents))

export function PinView({ cid, cluster }: { cid: string; cluster: string | undefined }) {
  const { client } = useSession()
  const { value, error, reload } = useLoad(
    async signal => {
      const here = await client.pins.status(cid, { cluster, signal })
      // The status in one cluster lists only that cluster, so load the status in all clusters.
      const { allocations, peers } = cluster === undefined ? here : await client.pins.status(cid, { signal })
      const status = { ...here, allocations, peers }
      const { uploads } = await client.pins.page(1, { cid, limit: MOST_RECORDS, signal })
      return { status, records: uploads }
    },
    [client, cid, cluster],
  )
  useEffect(() => {
    if (value === undefined || value.status.status === 'pinned') return
    const { status, nextAttemptAt } = value.status
    if (status === 'failed' && nextAttemptAt === null) return
    const timer = setTimeout(reload, status === 'failed' ? LATER_LOOK_MS : LOOK_MS)
    return () => clearTimeout(timer)
  }, [value])
  return html`<div class="stack">
    <nav aria-label="Way back"><a href="#/content">‹ All content</a></nav>
    ${value === undefined && html`<h1>${shortCid(cid)}</h1>`}
    <${FieldProblem} text=${error} />
    ${value && html`<${Pin} status=${value.status} records=${value.records} onChanged=${reload} />`}
    ${value === undefined && error === null && html`<p class="empty" role="status">Loading…</p>`}
  </div>`
}

interface PinProps {
  status: Status
  /** Records of this content in all clusters, up to 100. */
  records: readonly ListedUpload[]
  onChanged: () => void
}

function Pin({ status, records, onChanged }: PinProps) {
  const session = useSession()
  const { cid, clusterId, name } = status
  const url = contentUrl(session, cid, clusterId)
  const record = records.find(({ uploadId }) => uploadId === status.uploadId)
  const isPinned = status.status === 'pinned'
  const download = `${url}?download=true&filename=${encodeURIComponent(name)}`
  const isFolder = status.type === 'directory'
  const isPrivate = record?.visibility === 'private'
  return html`<div class="stack">
    <div class="row title">
      <h1>${name === cid ? shortCid(cid) : visibleText(name)}</h1>
      <${StateBadge} state=${status.status} /> ${isPrivate && html`<${PrivateBadge} />`}
    </div>
    <div class="buttons">
      ${
        isPinned &&
        !isPrivate &&
        html`<a class="button primary" href=${url} target="_blank" rel="noopener">Open</a>
          ${
            isFolder
              ? html`<a class="button" href=${`${url}?format=tar&filename=${encodeURIComponent(`${name}.tar`)}`} rel="noopener">Download (TAR)</a>`
              : html`<a class="button" href=${download} rel="noopener">Download</a>`
          }
          <a class="button" href=${`${url}?format=car&filename=${encodeURIComponent(`${name}.car`)}`} rel="noopener">Download CAR</a>`
      }
      <${RenameButton} status=${status} onDone=${onChanged} />
      <${DeleteButton} status=${status} />
    </div>
    <${Card} title="About it">
      ${!isPinned && html`<${Progress} status=${status} />`}
      <${Facts} status=${status} record=${record} url=${url} />
    </${Card}>
    ${isPinned && (isPrivate ? html`<${OwnContents} status=${status} />` : html`<${PinContents} status=${status} url=${url} />`)}
    <${Allocations} status=${status} records=${records} />
    <${PinRecords} status=${status} records=${records} onChanged=${onChanged} />
    <${PinMeta} key=${status.uploadId} uploadId=${status.uploadId} meta=${status.meta} onDone=${onChanged} />
  </div>`
}

function Progress({ status }: { status: Status }) {
  const now = useNow(1_000)
  const { blocks, bytes, attempts, nextAttemptAt, lastError, reason } = status
  const problem = lastError ?? (status.status === 'failed' ? reason : null)
  const far = `${plural(blocks, 'block')} so far, ${shownBytes(bytes)}`
  return html`<div>
    <p role="status">${far}${attempts > 1 && ` · attempt ${attempts}`}${
      nextAttemptAt !== null && ` · tried again ${formatAge(nextAttemptAt, now)}`
    }</p>
    ${(status.status === 'pinning' || status.status === 'queued') && html`<progress aria-label="Getting the content"></progress>`}
    <${FieldProblem} text=${problem === null ? null : wordsFor(problem)} />
    <${NoPeers} />
  </div>`
}

function Facts({ status, record, url }: { status: Status; record: ListedUpload | undefined; url: string }) {
  const now = useNow()
  const { cid, clusterId, type, size, createdAt, expiresAt, originalName, lastAnnounced, blocks } = status
  const kind = type === 'directory' ? 'Folder' : type === 'pin' ? 'Pinned by CID' : 'File'
  const when = (iso: string) => html`${formatInstant(iso)} <span class="quiet">(${formatAge(iso, now)})</span>`
  const whole = shownBytes(record?.dagSize ?? size)
  const sizes = whole === shownBytes(size) ? whole : `${shownBytes(size)}, ${whole} with structure`
  const facts: Array<[string, unknown]> = [
    ['CID', html`<code>${cid}</code> <${CopyButton} text=${cid} what="CID" />`],
    record?.visibility === 'private'
      ? ['Readers', 'Only this account']
      : [
          'Address',
          html`<a href=${url} target="_blank" rel="noopener">${url}</a> <${CopyButton} text=${url} what="Address" />`,
        ],
    ['Kind', kind],
    ['Size', `${sizes}, in ${plural(blocks, 'block')}`],
    ['Cluster', html`<code>${clusterId}</code>`],
    ['Added', when(createdAt)],
    ['Ends', expiresAt === null ? 'Kept until deleted' : when(expiresAt)],
    ...(originalName === null ? [] : [['Original name', visibleText(originalName)] as [string, unknown]]),
    ['Announced', lastAnnounced === null ? 'Not announced to the network' : when(lastAnnounced)],
  ]
  return html`<dl class="facts">${facts.map(([term, fact]) => html`<dt>${term}</dt><dd>${fact}</dd>`)}</dl>`
}

function Allocations({ status: { allocations, cid }, records }: Pick<PinProps, 'status' | 'records'>) {
  const clusters = new Set(records.map(({ clusterId }) => clusterId))
  const placeOf = (peer: string) =>
    clusters.has(peer)
      ? html`<a href=${routeTo(['pin', cid], { cluster: peer })}><code>${peer}</code></a>`
      : html`<code>${peer}</code>`
  const title = allocations.some(({ peer }) => !clusters.has(peer)) ? 'Clusters and copies' : 'Clusters'
  return html`<${Card} title=${title}>${table(allocations, null, ({ peer }) => peer, [
    ['Place', ({ peer }) => placeOf(peer)],
    ['State', ({ status }) => html`<${StateBadge} state=${status} />`],
    ['Since', ({ timestamp }) => formatInstant(timestamp), 'age'],
    ['Error', ({ error }) => error ?? '–'],
  ])}</${Card}>`
}
