import { useRef, useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { ManagedAccount } from '../../../client/index.ts'
import { type Secret, SecretDialog } from '../account/secret-dialog.ts'
import { html } from '../markup.ts'
import { routeTo, useRoute } from '../page-route.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { notify } from '../widgets/notices.ts'
import { Pager } from '../widgets/pager.ts'
import { formatInstant, plural, shownBytes } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'
import { AccountPins } from './account-pins.ts'
import { DeleteAccountDialog } from './delete-account-dialog.ts'
import { DisableAccountDialog } from './disable-account-dialog.ts'
import { NewAccountDialog } from './new-account-dialog.ts'
import { type PlanLimits, UsageAlert } from './usage-alert.ts'

const PAGE_ROWS = 50

export function AccountsView() {
  const of = useRoute().query.get('pins')
  return of === null ? html`<${AccountTable} />` : html`<${AccountPins} id=${of} />`
}

function AccountTable() {
  const { client } = useSession()
  const [page, setPage] = useState(1)
  const { value, error, reload } = useLoad(
    signal => client.owner.accounts({ page, limit: PAGE_ROWS, signal }),
    [client, page],
  )
  const plans = useLoad(signal => client.request<PlanLimits[]>('GET', '/plans', { signal }), [client])
  const names = plans.value?.map(({ id }) => id) ?? []
  const [isMaking, setMaking] = useState(false)
  const [secret, setSecret] = useState<Secret | null>(null)
  const [deleted, setDeleted] = useState<ManagedAccount | null>(null)
  const [disabled, setDisabled] = useState<ManagedAccount | null>(null)
  const { run, error: changeError } = useAction()
  const last = useRef<Promise<unknown>>(Promise.resolve())
  // A click during a change is not lost: its change waits.
  const inTurn = (act: () => Promise<unknown>): void => {
    last.current = last.current.then(() => run(act))
  }
  const change = (act: () => Promise<unknown>, words: string): void =>
    inTurn(async () => {
      await act()
      notify({ text: words })
      reload()
    })
  const made = ({ email, token }: { email: string; token: string }): void => {
    setMaking(false)
    reload()
    setSecret({ title: `The key of ${email}`, what: 'key', text: token, hint: 'Give it to the user of the account.' })
  }
  const link = async ({ id, email }: ManagedAccount): Promise<void> => {
    const { token, expiresAt } = await client.owner.makePasswordLink(id)
    const text = new URL(routeTo(['password'], { token }), document.baseURI).href
    const hint = `Give it to the user. It sets a new password once, until ${formatInstant(expiresAt)}.`
    setSecret({ title: `The password link of ${email}`, what: 'link', text, hint })
  }
  const choose = ({ id, email, plan }: ManagedAccount) => {
    const set = ({ currentTarget: { value } }: Event & { currentTarget: HTMLSelectElement }): void =>
      change(() => client.owner.setPlan(id, value), `${email} is on the plan ${value}`)
    const choices = names.includes(plan) ? names : [plan, ...names]
    return html`<select aria-label=${`Plan of ${email}`} value=${plan} onChange=${set}>${choices.map(
      one => html`<option key=${one} value=${one} selected=${one === plan}>${one}</option>`,
    )}</select>`
  }
  const changesOf = (account: ManagedAccount) => {
    const { id, email, disabled } = account
    const button = (words: string, act: () => void, label = words, tone = '') =>
      html`<button class=${`small ${tone}`} aria-label=${`${label} ${email}`} onClick=${act}>${words}</button>`
    const enable = (): void => change(() => client.owner.setDisabled(id, false), `${email} is let in again`)
    const end = (): void => change(() => client.owner.endSessions(id), `All sessions of ${email} have ended`)
    return html`<div class="buttons end">
      ${button('Password link', () => inTurn(() => link(account)), 'Password link for')}
      ${button('End sessions', end, 'End sessions of')}
      ${disabled ? button('Enable', enable) : button('Disable', () => setDisabled(account))}
      ${button('Delete', () => setDeleted(account), 'Delete', 'danger')}
    </div>`
  }
  const makes = html`<button class="primary" onClick=${() => setMaking(true)}>New account</button>`
  return html`<${Card} title="Accounts" count=${value?.total} error=${error ?? plans.error ?? changeError} act=${makes}>
    <div class="accounts">${table(value?.accounts, null, ({ id }) => id, [
      ['Account', nameOf, 'name'],
      [
        'Keeps',
        ({ id, email, plan, usage }) => html`${shownBytes(usage.storedBytes)}
          <a class="under" href=${routeTo(['owner', 'accounts'], { pins: id })} aria-label=${`${plural(usage.pins, 'pin')} of ${email}`}>${plural(usage.pins, 'pin')}</a>
          <${UsageAlert} usage=${usage} limits=${plans.value?.find(({ id }) => id === plan)} />`,
        'age',
      ],
      ['Plan', choose],
      ['Changes', changesOf, 'actions'],
    ])}</div>
    ${value && html`<${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage} />`}
    ${isMaking && html`<${NewAccountDialog} plans=${names} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${disabled && html`<${DisableAccountDialog} account=${disabled} onClose=${() => setDisabled(null)} onDone=${reload} />`}
    ${deleted && html`<${DeleteAccountDialog} account=${deleted} onClose=${() => setDeleted(null)} onDone=${reload} />`}
  </${Card}>`
}

function nameOf({ email, name, role, disabled, createdAt }: ManagedAccount) {
  return html`<strong>${email}</strong>
    ${role === 'owner' && html` <span class="badge">owner</span>`}
    ${disabled && html` <span class="badge bad">disabled</span>`}
    <span class="under">${name && `${visibleText(name)} · `}since ${formatInstant(createdAt)}</span>`
}
