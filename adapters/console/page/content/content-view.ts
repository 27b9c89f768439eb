import { JobsView, useJobs } from '../bulk/jobs-view.ts' // feature: bulk
import { html } from '../markup.ts'
import { AddContent } from './add-content.ts'
import { PinForm } from './pin-form.ts'
import { PinListView } from './pin-list-view.ts'
import { UploadsView, useUploads } from './uploads-view.ts'

export function ContentView() {
  let changes = useUploads().filter(({ state }) => state === 'done').length
  changes += useJobs().changes // feature: bulk
  return html`<div class="stack">
    <h1>Content</h1>
    <div class="two"><${AddContent} /><${PinForm} /></div>
    <${UploadsView} />
    ${/* feature: bulk */ html`<${JobsView} />`}
    <${PinListView} changes=${changes} />
  </div>`
}
