import { useState } from 'preact/hooks'
import { JobsView, useJobs } from '../bulk/jobs-view.ts' // feature: bulk
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { lazily } from '../widgets/lazily.ts'
import { AddContent } from './add-content.ts'
import { PinListView } from './pin-list-view.ts'
import { UploadsView, useUploads } from './uploads-view.ts'

const PinDialog = lazily(() => import('./pin-dialog.ts').then(({ PinDialog }) => PinDialog), true)

/** Shows the pins first. The card that adds files is folded, unless the account has no pins yet. */
export function ContentView() {
  const { user } = useSession()
  const [isAdding, setAdding] = useState(user.usage.pins === 0)
  const [isPinning, setPinning] = useState(false)
  let changes = useUploads().filter(({ state }) => state === 'done').length
  changes += useJobs().changes // feature: bulk
  return html`<div class="stack">
    <div class="buttons spread">
      <h1>Content</h1>
      <button class="primary" id="add" aria-expanded=${isAdding ? 'true' : 'false'} aria-controls="add-card"
        onClick=${() => setAdding(!isAdding)}>Add</button>
      <button onClick=${() => setPinning(true)}>Pin by CID</button>
    </div>
    <${AddContent} isShown=${isAdding} />
    <${UploadsView} />
    ${/* feature: bulk */ html`<${JobsView} />`}
    <${PinListView} changes=${changes} />
    ${isPinning && html`<${PinDialog} onClose=${() => setPinning(false)} />`}
  </div>`
}
