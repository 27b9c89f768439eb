import { useEffect, useState } from 'preact/hooks'
import { ANYWHERE, ReadersField } from '../content/target-fields.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Form } from '../widgets/action-form.ts'
import { Card } from '../widgets/card.ts'
import { InputField } from '../widgets/field.ts'
import { formatInstant, shownBytes, shownCount } from '../widgets/shown-values.ts'

export function AccountOverview() {
  const { user, refresh } = useSession()
  // Recent uploads have changed the usage.
  useEffect(refresh, [])
  const { planDetails: plan, usage, egress } = user
  return html`<div class="stack">
    <${Card} title=${html`<span>Usage <span class="count">plan ${user.plan}</span></span>`}>
      <${Usage} label="Storage" used=${usage.storedBytes} most=${plan.maxStorageBytes} format=${shownBytes} />
      <${Usage} label="Pins" used=${usage.pins} most=${plan.maxPins} format=${shownCount} />
      <${Usage} label="Gateway traffic this month" used=${egress.bytes} most=${plan.maxEgressBytes} format=${shownBytes} />
      <p class="hint">Each content counts once, even with several pins.${
        usage.keptBytes ? ` Deleted content that can be restored keeps another ${shownBytes(usage.keptBytes)}.` : ''
      }</p>
    </${Card}>
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
  return html`<${Card} title="Plan">
    <dl class="facts">${facts.map(([term, fact]) => html`<dt>${term}</dt><dd>${fact}</dd>`)}</dl>
  </${Card}>`
}

function Profile() {
  const { client, user, kind, refresh } = useSession()
  const [name, setName] = useState(user.name === user.email ? '' : user.name)
  const [email, setEmail] = useState(user.email)
  const [target, setTarget] = useState(ANYWHERE)
  const save = () => {
    const defaultVisibility = target.visibility || undefined
    const changes = { defaultVisibility, name: name.trim(), email: email === user.email ? undefined : email.trim() }
    return client.account.update(changes)
  }
  return html`<${Card} title="Profile">
    <${Form} label="Save" tone="" act=${save} said="Profile saved" onDone=${refresh}>
      <${InputField} label="Name" value=${name} onInput=${setName} input=${{ autocomplete: 'name' }} />
      <${InputField} label="Email" type="email" value=${email} onInput=${setEmail}
        input=${{ autocomplete: 'email', required: true, readonly: kind === 'key' }}
        hint=${kind === 'key' ? 'Sign in with the password to change it.' : 'You sign in with it.'} />
      <${ReadersField} label="Readers of new content" target=${target} onChange=${setTarget} />
    </${Form}>
  </${Card}>`
}
