import { useRef, useState } from 'preact/hooks'
import { isHoldfastError, type NodeStats, type Verified } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { ConfirmDialog } from '../widgets/confirm-dialog.ts'
import { FieldProblem } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { formatAge, plural, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useAction } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'

export interface UpkeepProps {
  stats: NodeStats
  /** Called after an operation that may have changed the statistics. */
  onDone: () => void
}

export function UpkeepView(props: UpkeepProps) {
  return html`<div class="two"><${Collection} ...${props} /><${Verification} ...${props} /></div>`
}

function Collection({ stats, onDone }: UpkeepProps) {
  const { client } = useSession()
  const [isAsked, setAsked] = useState(false)
  const collect = async (): Promise<void> => {
    const { blocks, bytes } = await client.owner.collect({ graceSeconds: 0 })
    notify({
      text: blocks === 0 ? 'Nothing to free' : `${shownBytes(bytes)} freed, ${plural(blocks, 'block')}`,
    })
  }
  return html`<${Card} title="Collection">
    <p>Unused blocks are deleted automatically after a grace period. ${waiting(stats)}</p>
    <button onClick=${() => setAsked(true)}>Free it now</button>
    ${
      isAsked &&
      html`<${ConfirmDialog} title="Delete unused blocks now?" label="Delete them" act=${collect} onClose=${() => setAsked(false)} onDone=${onDone}>
        <p>The blocks of deleted pins are deleted without waiting for the grace period. Only a backup can restore them.</p>
      </${ConfirmDialog}>`
    }
  </${Card}>`
}

function waiting({ garbageBlocks, roots }: NodeStats): string {
  const waiting = [
    ...(roots.dropped.count > 0 ? [plural(roots.dropped.count, 'deleted pin')] : []),
    ...(garbageBlocks > 0 ? [plural(garbageBlocks, 'block')] : []),
  ]
  return waiting.length === 0 ? 'None now.' : `Waiting now: ${waiting.join(' and ')}.`
}

interface Progress {
  blocks: number
  bytes: number
  damaged: number
}

function Verification({ stats, onDone }: UpkeepProps) {
  const { client } = useSession()
  const now = useNow()
  const { run, isBusy, error } = useAction()
  const [progress, setProgress] = useState<Progress | null>(null)
  const [outcome, setOutcome] = useState<Verified | null>(null)
  const ending = useRef<AbortController | null>(null)
  const verify = (): Promise<boolean> =>
    run(async () => {
      const controller = new AbortController()
      ending.current = controller
      setOutcome(null)
      setProgress({ blocks: 0, bytes: 0, damaged: 0 })
      try {
        setOutcome(await client.owner.verify({ signal: controller.signal, onProgress: setProgress }))
      } catch (error) {
        if (!isHoldfastError(error, 'ABORTED')) throw error
      } finally {
        setProgress(null)
        onDone()
      }
    })
  const { isRunning, endedAt, blocks, damaged } = stats.verification
  const own = isRunning
    ? `A scheduled verification is running, ${plural(blocks, 'block')} so far.`
    : endedAt === null
      ? ''
      : `The last scheduled verification ended ${formatAge(new Date(endedAt).toISOString(), now)}, ${shownCount(damaged)} damaged.`
  return html`<${Card} title="Verification">
    <p>The node slowly reads and checks every block. ${own}</p>
    ${progress !== null && html`<${Reading} progress=${progress} total=${stats.blocks.durable.bytes} />`}
    ${outcome !== null && html`<${Outcome} outcome=${outcome} />`}
    <${FieldProblem} text=${error} />
    <div class="buttons">
      <button onClick=${verify} disabled=${isBusy}>${isBusy ? 'Checking…' : 'Check all of it now'}</button>
      ${isBusy && html`<button class="plain" onClick=${() => ending.current?.abort()}>Cancel</button>`}
    </div>
  </${Card}>`
}

function Reading({ progress, total }: { progress: Progress; total: number }) {
  return html`<div class="field">
    <progress aria-label="Progress of the check" max=${Math.max(total, 1)} value=${Math.min(progress.bytes, total)}></progress>
    <p class="hint">${shownBytes(progress.bytes)} of ${shownBytes(total)}, ${shownCount(progress.damaged)} damaged</p>
  </div>`
}

function Outcome({ outcome }: { outcome: Verified }) {
  const { blocks, bytes, damaged, damagedBlocks } = outcome
  if (damagedBlocks === 0)
    return html`<p role="status"><span class="badge good">Whole</span> ${plural(blocks, 'block')}, ${shownBytes(bytes)} checked.</p>`
  return html`<div role="status">
    <p><span class="badge bad">${plural(damagedBlocks, 'block')} damaged</span> Upload the same bytes again to repair them.</p>
    <ul class="damage">${damaged
      .slice(0, 20)
      .map(({ cid, reason }) => html`<li key=${cid}><code>${cid}</code> ${reason}</li>`)}</ul>
  </div>`
}
