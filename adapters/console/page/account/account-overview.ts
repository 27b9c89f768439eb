import { useEffect, useState } from 'preact/hooks'
import { ANYWHERE, ReadersField } from '../content/target-fields.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { formatInstant, shownBytes, shownCount } from '../widgets/shown-values.ts'
import { useAction } from '../widgets/use-load.ts'

export function AccountOverview() {
  const { user, refresh } = useSession()
  // Recent uploads have changed the usage.
  useEffect(refresh, [])
  const { planDetails: plan, usage, egress } = user
  return html`<div class="stack">
    <section class="card" aria-labelledby="usage-title">
      <h2 id="usage-title">Usage <span class="count">plan ${user.plan}</span></h2>
      <${Usage} label="Storage" used=${usage.storedBytes} most=${plan.maxStorageBytes} format=${shownBytes} />
      <${Usage} label="Pins" used=${usage.pins} most=${plan.maxPins} format=${shownCount} />
      <${Usage} label="Gateway traffic this month" used=${egress.bytes} most=${plan.maxEgressBytes} format=${shownBytes} />
      <p class="hint">Each content counts once, even with several pins.${
        usage.keptBytes ? ` Deleted content that can be restored keeps another ${shownBytes(usage.keptBytes)}.` : ''
      }</p>
    </section>
    <div class="two"><${Plan} /><${Profile} /></div>
  </div>`
}

function Usage(props: { label: string; used: number; most: number | null; format: (value: number) => string }) {
  const { label, used, most, format } = props
  return html`<div class="field">
    <div class="buttons spread"><strong>${label}</strong> <span>${format(used)}${most === null ? ', no limit' : ` of ${format(most)}`}</span></div>
    ${most !== null && html`<meter aria-label=${label} min="0" max=${most} high=${most * 0.9} optimum="0" value=${used}></meter>`}
  </div>`
}

function Plan() {
  const { user, clusters } = useSession()
  const { planDetails: plan, createdAt, id } = user
  const most = (value: number | null, format: (value: number) => string): string =>
    value === null ? 'No limit' : format(value)
  const facts: Array<[string, string]> = [
    ['A file', most(plan.maxFileBytes, shownBytes)],
    ['A folder', most(plan.maxDirectoryBytes, shownBytes)],
    ['Files of a folder', most(plan.maxDirectoryFiles, shownCount)],
    ['Pins that wait', most(plan.maxQueuedPins, shownCount)],
    ['API keys', most(plan.maxKeys, shownCount)],
    ['Pins that end', plan.timelock ? 'Yes' : 'No'],
    ['Clusters', clusters.length === 0 ? shownCount(user.clusters) : clusters.map(({ id }) => id).join(', ')],
    ['Member since', formatInstant(createdAt)],
    ['Account id', id],
  ]
  return html`<section class="card" aria-labelledby="plan-title">
    <h2 id="plan-title">Plan</h2>
    <dl class="facts">${facts.map(([term, fact]) => html`<dt>${term}</dt><dd>${fact}</dd>`)}</dl>
  </section>`
}

function Profile() {
  const { client, user, kind, refresh } = useSession()
  const [name, setName] = useState(user.name === user.email ? '' : user.name)
  const [email, setEmail] = useState(user.email)
  const [target, setTarget] = useState(ANYWHERE)
  const { run, isBusy, error } = useAction()
  const submit = submitting(async () => {
    const defaultVisibility = target.visibility || undefined
    const changes = { defaultVisibility, name: name.trim(), email: email === user.email ? undefined : email.trim() }
    if (!(await run(() => client.account.update(changes)))) return
    notify({ text: 'Profile saved' })
    refresh()
  })
  return html`<section class="card" aria-labelledby="profile-title">
    <h2 id="profile-title">Profile</h2>
    <form onSubmit=${submit}>
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ autocomplete: 'name' }} />
      <${InputField} label="Email" type="email" value=${email} onInput=${setEmail}
        input=${{ autocomplete: 'email', required: true, readonly: kind === 'key' }}
        hint=${kind === 'key' ? 'Sign in with the password to change it.' : 'You sign in with it.'} />
      <${ReadersField} label="Readers of new content" target=${target} onChange=${setTarget} />
      <${FieldProblem} text=${error} />
      <button disabled=${isBusy}>Save</button>
    </form>
  </section>`
}
