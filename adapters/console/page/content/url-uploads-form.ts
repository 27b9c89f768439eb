import { useState } from 'preact/hooks'
import type { TargetOptions } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { useSession } from '../session.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { useAction } from '../widgets/use-load.ts'

/** Has the server upload the file at a URL, and then shows its pin. */
export function UrlForm({ target }: { target: TargetOptions }) {
  const { client, refresh } = useSession()
  const [url, setUrl] = useState('')
  const { run, isBusy, error } = useAction()
  const submit = submitting(() =>
    run(async () => {
      const { cid, clusterId } = await client.files.uploadFromUrl(url.trim(), target)
      refresh()
      location.hash = routeTo(['pin', cid], { cluster: clusterId })
    }),
  )
  return html`<form class="inline" onSubmit=${submit}>
    <${InputField} label="From a URL" type="url" value=${url} onInput=${setUrl}
      input=${{ required: true, placeholder: 'https://', maxlength: 2048, spellcheck: false, autocomplete: 'off' }} />
    <button disabled=${isBusy}>${isBusy ? 'Reading…' : 'Upload'}</button>
    <${FieldProblem} text=${error} />
    ${isBusy && html`<progress aria-label="The server reads the file"></progress>`}
  </form>`
}
