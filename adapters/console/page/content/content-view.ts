import { html } from '../markup.ts'
import { AddContent } from './add-content.ts'
import { JobsView, useJobs } from './jobs-view.ts'
import { PinForm } from './pin-form.ts'
import { PinListView } from './pin-list-view.ts'
import { UploadsView, useUploads } from './uploads-view.ts'

export function ContentView() {
  const done = useUploads().filter(({ state }) => state === 'done').length
  const { changes } = useJobs()
  return html`<div class="stack">
    <h1>Content</h1>
    <div class="two"><${AddContent} /><${PinForm} /></div>
    <${UploadsView} />
    <${JobsView} />
    <${PinListView} changes=${done + changes} />
  </div>`
}
