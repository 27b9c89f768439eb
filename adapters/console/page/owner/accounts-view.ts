import { useRef, useState } from 'preact/hooks'
import type { ManagedAccount } from '../../../client/index.ts'
import { type Secret, SecretDialog } from '../account/secret-dialog.ts'
import { html } from '../markup.ts'
import { routeTo, useRoute } from '../page-route.ts'
import { useSession } from '../session.ts'
import { FieldProblem } from '../widgets/field.ts'
import { notify } from '../widgets/notices.ts'
import { Pager } from '../widgets/pager.ts'
import { formatInstant, plural, shownBytes, shownCount } from '../widgets/shown-values.ts'
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
  const close = (): void => {
    setDeleted(null)
    setDisabled(null)
    setMaking(false)
    reload()
  }
  const made = ({ email, token }: { email: string; token: string }): void => {
    close()
    setSecret({ title: `The key of ${email}`, what: 'key', text: token, hint: 'Give it to the user of the account.' })
  }
  const link = async ({ id, email }: ManagedAccount): Promise<void> => {
    const { token, expiresAt } = await client.owner.makePasswordLink(id)
    const text = new URL(routeTo(['password'], { token }), document.baseURI).href
    const hint = `Give it to the user. It sets a new password once, until ${formatInstant(expiresAt)}.`
    setSecret({ title: `The password link of ${email}`, what: 'link', text, hint })
  }
  return html`<section class="card" aria-labelledby="accounts-title">
    <div class="buttons spread">
      <h2 id="accounts-title">Accounts ${value && html`<span class="count">${shownCount(value.total)}</span>`}</h2>
      <button class="primary" onClick=${() => setMaking(true)}>New account</button>
    </div>
    <${FieldProblem} text=${error ?? plans.error ?? changeError} />
    ${
      value !== undefined &&
      html`<${Table} accounts=${value.accounts} plans=${names} limits=${plans.value ?? []} onDelete=${setDeleted}
        onPlan=${({ id, email }: ManagedAccount, plan: string) => change(() => client.owner.setPlan(id, plan), `${email} is on the plan ${plan}`)}
        onDisable=${setDisabled}
        onEnable=${({ id, email }: ManagedAccount) =>
          change(() => client.owner.setDisabled(id, false), `${email} is let in again`)}
        onEndSessions=${({ id, email }: ManagedAccount) =>
          change(() => client.owner.endSessions(id), `All sessions of ${email} have ended`)}
        onLink=${(account: ManagedAccount) => inTurn(() => link(account))} />
      <${Pager} page=${page} pages=${value.pagination.totalPages} onPage=${setPage} />`
    }
    ${isMaking && html`<${NewAccountDialog} plans=${names} onClose=${() => setMaking(false)} onMade=${made} />`}
    ${secret && html`<${SecretDialog} secret=${secret} onClose=${() => setSecret(null)} />`}
    ${disabled && html`<${DisableAccountDialog} account=${disabled} onClose=${() => setDisabled(null)} onDone=${close} />`}
    ${deleted && html`<${DeleteAccountDialog} account=${deleted} onClose=${() => setDeleted(null)} onDone=${close} />`}
  </section>`
}

interface TableProps {
  accounts: readonly ManagedAccount[]
  plans: readonly string[]
  limits: readonly PlanLimits[]
  onPlan: (account: ManagedAccount, plan: string) => void
  onDisable: (account: ManagedAccount) => void
  onEnable: (account: ManagedAccount) => void
  onEndSessions: (account: ManagedAccount) => void
  onLink: (account: ManagedAccount) => void
  onDelete: (account: ManagedAccount) => void
}

function Table({ accounts, ...acts }: TableProps) {
  return html`<div class="list"><table class="stacked accounts">
    <thead><tr>
      <th scope="col">Account</th><th scope="col">Keeps</th><th scope="col">Plan</th>
      <th scope="col"><span class="unseen">Changes</span></th>
    </tr></thead>
    <tbody>${accounts.map(account => html`<${Row} key=${account.id} account=${account} ...${acts} />`)}</tbody>
  </table></div>`
}

function Row({
  account,
  plans,
  limits,
  onPlan,
  onDisable,
  onEnable,
  onEndSessions,
  onLink,
  onDelete,
}: Omit<TableProps, 'accounts'> & { account: ManagedAccount }) {
  const { id, email, name, role, plan, disabled, createdAt, usage } = account
  const choices = plans.includes(plan) ? plans : [plan, ...plans]
  return html`<tr>
    <td class="name">
      <strong>${email}</strong>
      ${role === 'owner' && html` <span class="badge">owner</span>`}
      ${disabled && html` <span class="badge bad">disabled</span>`}
      <span class="under">${name && `${name} · `}since ${formatInstant(createdAt)}</span>
    </td>
    <td class="age">${shownBytes(usage.storedBytes)}<a class="under" href=${routeTo(['owner', 'accounts'], { pins: id })}
      aria-label=${`${plural(usage.pins, 'pin')} of ${email}`}>${plural(usage.pins, 'pin')}</a>
      <${UsageAlert} usage=${usage} limits=${limits.find(({ id }) => id === plan)} /></td>
    <td>
      <select
        aria-label=${`Plan of ${email}`}
        value=${plan}
        onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => onPlan(account, event.currentTarget.value)}
      >${choices.map(one => html`<option key=${one} value=${one} selected=${one === plan}>${one}</option>`)}</select>
    </td>
    <td><div class="buttons end">
      <button class="small" aria-label=${`Password link for ${email}`} onClick=${() => onLink(account)}>Password link</button>
      <button class="small" aria-label=${`End sessions of ${email}`} onClick=${() => onEndSessions(account)}>End sessions</button>
      <button class="small" aria-label=${`${disabled ? 'Enable' : 'Disable'} ${email}`} onClick=${() => (disabled ? onEnable : onDisable)(account)}>
        ${disabled ? 'Enable' : 'Disable'}
      </button>
      <button class="small danger" aria-label=${`Delete ${email}`} onClick=${() => onDelete(account)}>Delete</button>
    </div></td>
  </tr>`
}
