import { useState } from 'preact/hooks'
import type { HistorySample, NodeHistory } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { shownBytes, shownCount } from '../widgets/shown-values.ts'
import { Plot } from './plot.ts'
import { useWatch } from './use-watch.ts'

/** `step` is the length of a sample in seconds, `most` the number of samples. */
const SPANS = [
  { step: 60, most: 180, words: '3 hours', middle: '90 minutes ago', each: '/ min' },
  { step: 900, most: 288, words: '3 days', middle: '36 hours ago', each: '/ 15 min' },
] as const

export function Plots() {
  const { client } = useSession()
  const [span, setSpan] = useState<(typeof SPANS)[number]>(SPANS[0])
  const { value, error } = useWatch(signal => client.owner.history(span.step, signal), [client, span])
  const button = (choice: typeof span) =>
    html`<button type="button" aria-pressed=${choice === span} onClick=${() => setSpan(choice)}>${choice.words}</button>`
  const choices = html`<div class="choices" role="group" aria-label="How far back">${SPANS.map(button)}</div>`
  return html`<${Card} title="Over time" error=${error} act=${choices}>
    ${value !== undefined && value.stepSeconds === span.step && html`<${Three} history=${value} span=${span} />`}
    <p class="hint">Kept in memory since the last start.</p>
  </${Card}>`
}

function Three({ history, span }: { history: NodeHistory; span: (typeof SPANS)[number] }) {
  const { samples } = history
  const common = {
    samples,
    stepMs: span.step * 1_000,
    most: span.most,
    back: [`${span.words} ago`, span.middle],
    each: span.each,
  }
  const sum = (field: 'requests' | 'refused' | 'failed' | 'sentBytes' | 'receivedBytes'): number =>
    samples.reduce((total, sample) => total + sample[field], 0)
  const stored = samples.at(-1)?.storedBytes ?? null
  return html`<div class="two plots">
    <${Plot} ...${common} title="Requests" format=${shownCount}
      summary=${`${shownCount(sum('requests'))}, ${shownCount(sum('refused'))} refused, ${shownCount(sum('failed'))} failed`}
      series=${[
        {
          name: 'answered',
          tone: 'first',
          read: ({ requests, refused, failed }: HistorySample) => requests - refused - failed,
        },
        { name: 'refused', tone: 'second', read: ({ refused }: HistorySample) => refused },
        { name: 'failed', tone: 'third', read: ({ failed }: HistorySample) => failed },
      ]} />
    <${Plot} ...${common} title="Traffic" format=${shownBytes}
      summary=${`${shownBytes(sum('sentBytes'))} out, ${shownBytes(sum('receivedBytes'))} in`}
      series=${[
        { name: 'out', tone: 'first', read: ({ sentBytes }: HistorySample) => sentBytes },
        { name: 'in', tone: 'second', read: ({ receivedBytes }: HistorySample) => receivedBytes },
      ]} />
    <${Plot} ...${common} title="Stored" format=${shownBytes} each="" summary=${stored === null ? '' : shownBytes(stored)}
      series=${[{ name: 'stored', tone: 'first', read: ({ storedBytes }: HistorySample) => storedBytes ?? 0 }]} />
  </div>`
}
