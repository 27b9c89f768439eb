import type { NodeStats, PinState } from '../../../client/index.ts'
import { html, type WithChildren } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { plural, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { Plots } from './plots.ts'
import { UpkeepView } from './upkeep-view.ts'
import { useWatch } from './use-watch.ts'

const STATES: ReadonlyArray<readonly [PinState, string]> = [
  ['pinned', 'pinned'],
  ['pinning', 'pinning'],
  ['queued', 'queued'],
  ['failed', 'failed'],
]

export function OwnerOverview() {
  const { client } = useSession()
  const { value: stats, error, reload } = useWatch(signal => client.owner.stats(signal), [client])
  return html`<div class="stack">
    <${FieldProblem} text=${error} />
    ${stats !== undefined && html`<${Figures} stats=${stats} />`}
    <${Plots} />
    ${stats !== undefined && html`<${UpkeepView} stats=${stats} onDone=${reload} />`}
  </div>`
}

function Figures({ stats }: { stats: NodeStats }) {
  const { pins, blocks, disks, accounts, peers, databaseBytes } = stats
  const [disk] = disks
  const count = STATES.reduce((sum, [state]) => sum + pins[state], 0)
  return html`<dl class="two figures">
    <${Figure} name="Stored" value=${shownBytes(blocks.durable.bytes)}>
      ${plural(blocks.durable.count, 'block')}, database ${shownBytes(databaseBytes)}
    </${Figure}>
    <${Figure} name="Free" value=${disk === undefined ? '–' : shownBytes(disk.freeBytes)} isBad=${disk?.isFull === true}>
      ${disk?.isFull ? 'The disk is full: new content is refused' : `${shownBytes(disk?.reserveBytes ?? 0)} are reserved for deletes`}
    </${Figure}>
    <${Figure} name="Pins" value=${shownCount(count)} isBad=${pins.failed > 0}>
      ${STATES.filter(([state]) => pins[state] > 0 || state === 'pinned').map(
        ([state, words]) =>
          html`<span key=${state} class=${`badge ${state}`}>${shownCount(pins[state])} ${words}</span> `,
      )}
    </${Figure}>
    <${Figure} name="Accounts" value=${shownCount(accounts)}>
      ${shownBytes(stats.accountedBytes)} count against their plans${stats.keptBytes ? `, ${shownBytes(stats.keptBytes)} are kept for undos` : ''}
    </${Figure}>
    <${Figure} name="Peers" value=${shownCount(peers)}>${wordsOnPeers(stats)}</${Figure}>
    ${disks.slice(1).map(
      ({ backend, freeBytes, isFull }) =>
        html`<${Figure} key=${backend} name=${`Free, backend ${backend}`} value=${shownBytes(freeBytes)} isBad=${isFull}>
          ${isFull ? 'This disk is full' : 'on the disk of a cluster'}
        </${Figure}>`,
    )}
    ${(stats.clusters ?? []).map(({ clusters: [name = ''], peers, error, pins, unpins }) => {
      const away = error === null ? peers.filter(peer => peer.error !== null).length : 0
      const free = Math.min(...peers.flatMap(({ freeBytes }) => freeBytes ?? []))
      const value = error === null ? `${shownCount(pins + unpins)} waiting` : 'down'
      return html`<${Figure} key=${name} name=${`Remote cluster ${name}`} value=${value} isBad=${error !== null || away > 0}>
        ${error ?? `${plural(peers.length, 'peer')}${away > 0 ? `, ${shownCount(away)} unusable` : ''}`}
        ${Number.isFinite(free) ? `, ${shownBytes(free)} free on the fullest` : ''}
      </${Figure}>`
    })}
  </dl>`
}

function wordsOnPeers({ peers, publicNetwork }: NodeStats): string {
  if (peers > 0) return 'connected'
  return publicNetwork === null
    ? 'The node is off the public network: it serves content over HTTP'
    : 'No peer is connected yet: others find no content of this node'
}

interface FigureProps extends WithChildren {
  name: string
  value: string
  isBad?: boolean
}

function Figure({ name, value, isBad = false, children }: FigureProps) {
  return html`<div class=${isBad ? 'card figure bad' : 'card figure'}>
    <dt>${name}</dt>
    <dd class="value">${value}</dd>
    <dd class="hint">${children}</dd>
  </div>`
}
