import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { formatAge, formatInstant } from '../widgets/shown-values.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'

export function SessionList() {
  const { client } = useSession()
  const [after, setAfter] = useState<string | undefined>(undefined)
  const { value, error, reload } = useLoad(signal => client.sessions.list({ after, signal }), [client, after])
  const action = useAction()
  const now = useNow()
  const end = async (ending: () => Promise<unknown>, words: string): Promise<void> => {
    if (!(await action.run(ending))) return
    notify({ text: words })
    reload()
  }
  return html`<section class="card" aria-labelledby="sessions-title">
    <div class="buttons spread">
      <h2 id="sessions-title">Sessions</h2>
      <button class="small" disabled=${action.isBusy} onClick=${() => end(() => client.sessions.endOthers(), 'All other sessions have ended')}>End all others</button>
    </div>
    <${FieldProblem} text=${error ?? action.error} />
    <div class="list"><table class="stacked">
      <thead><tr>
        <th scope="col">Signed in</th><th scope="col">Ends</th><th scope="col"><span class="unseen">End</span></th>
      </tr></thead>
      <tbody>${value?.rows.map(
        ({ id, createdAt, expiresAt, current }) => html`<tr key=${id}>
          <td>${formatInstant(createdAt)} ${current && html`<span class="badge good">this one</span>`}</td>
          <td class="age" data-label="Ends">${formatAge(expiresAt, now)}</td>
          <td class="number">${
            !current &&
            html`<button class="small" disabled=${action.isBusy} aria-label=${`End the session of ${formatInstant(createdAt)}`}
              onClick=${() => end(() => client.sessions.end(id), 'The session has ended')}>End</button>`
          }</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${typeof value?.next === 'string' && html`<button class="small" onClick=${() => setAfter(value.next ?? undefined)}>Further</button>`}
  </section>`
}
