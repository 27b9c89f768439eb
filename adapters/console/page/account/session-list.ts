import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { notify } from '../widgets/notices.ts'
import { formatInstant } from '../widgets/shown-values.ts'
import { Age, table } from '../widgets/table.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'

export function SessionList() {
  const { client } = useSession()
  const { after, buttons } = useAfterPages('Back', 'Further')
  const { value, error, reload } = useLoad(signal => client.sessions.list({ after, signal }), [client, after])
  const action = useAction()
  const end = async (ending: () => Promise<unknown>, words: string): Promise<void> => {
    if (!(await action.run(ending))) return
    notify({ text: words })
    reload()
  }
  const others = html`<button class="small" disabled=${action.isBusy}
    onClick=${() => end(() => client.sessions.endOthers(), 'All other sessions have ended')}>End all others</button>`
  return html`<${Card} title="Sessions" error=${error ?? action.error} act=${others}>
    ${table(value?.rows, null, ({ id }) => id, [
      [
        'Signed in',
        ({ createdAt, current }) =>
          html`${formatInstant(createdAt)} ${current && html`<span class="badge good">this one</span>`}`,
      ],
      ['Ends', ({ expiresAt }) => html`<${Age} at=${expiresAt} />`, 'age'],
      [
        'End',
        ({ id, createdAt, current }) =>
          !current &&
          html`<button class="small" disabled=${action.isBusy} aria-label=${`End the session of ${formatInstant(createdAt)}`}
              onClick=${() => end(() => client.sessions.end(id), 'The session has ended')}>End</button>`,
        'actions',
      ],
    ])}
    <div class="buttons">${buttons(value?.next)}</div>
  </${Card}>`
}
