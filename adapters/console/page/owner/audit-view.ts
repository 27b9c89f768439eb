import { useState } from 'preact/hooks'
import type { AuditEntry, AuditFilter } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { useAfterPages } from '../widgets/after-pages.ts'
import { Card } from '../widgets/card.ts'
import { Choice, FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { saveAs } from '../widgets/save-as.ts'
import { formatAge, formatInstant, instantIn, plural } from '../widgets/shown-values.ts'
import { table } from '../widgets/table.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'
import { useNow } from '../widgets/use-now.ts'

const ROWS = 50
/** Pages without a matching entry that the view passes over by itself. */
const MOST_EMPTY = 20

const FORMATS = ['csv', 'jsonl'] as const

/** Outcomes to choose from. */
const OUTCOMES = [
  ['', 'Any'],
  ['ok', 'Done'],
  ['INVALID_API_KEY', 'Wrong credential'],
  ['2fa_invalid', 'Wrong second factor'],
  ['RATE_LIMIT', 'Too many attempts'],
  ['OWNER_REQUIRED', 'Not an owner'],
  ['missing_scope', 'Missing scope'],
] as const

interface Asked {
  account: string
  action: string
  outcome: string
  from: string
  until: string
}

const NOTHING_ASKED: Asked = { account: '', action: '', outcome: '', from: '', until: '' }

export function AuditView() {
  const { client } = useSession()
  const [asked, setAsked] = useState(NOTHING_ASKED)
  const pages = useAfterPages('Newer', 'Older')
  const filter = filterOf(asked)
  const { value, error, isLoading, reload } = useLoad(
    async signal => {
      let page = await client.owner.audit({ ...filter, after: pages.after, limit: ROWS, signal })
      for (let empty = 0; page.rows.length === 0 && page.next !== null && empty < MOST_EMPTY; empty++) {
        page = await client.owner.audit({ ...filter, after: page.next, limit: ROWS, signal })
      }
      return page
    },
    [client, JSON.stringify(asked), pages.after],
  )
  const now = useNow()
  const show = (next: Asked): void => {
    pages.reset()
    setAsked(next)
    // The same filter may match new entries.
    reload()
  }
  return html`<div class="stack">
    <${Filters} key=${asked.account} asked=${asked} onAsked=${show} />
    <${Card} title="Audit log" error=${error}>
      <div class="list" aria-busy=${isLoading}>${table(value?.rows, 'No entries match.', ({ id }) => id, [
        [
          'Action',
          ({ action, subject }) =>
            html`<code>${action}</code>${subject !== null && html`<span class="under">${subject}</span>`}`,
          'name',
        ],
        ['Who', entry => whoOf(entry, account => show({ ...asked, account })), 'name'],
        [
          'Outcome',
          ({ outcome, times }) => html`<span class=${outcome === 'ok' ? 'badge good' : 'badge bad'}>${outcome}</span>
            ${times > 1 && html`<span class="under">${plural(times, 'time')}</span>`}`,
        ],
        ['When', ({ at, lastAt }) => html`<span title=${formatInstant(at)}>${formatAge(lastAt, now)}</span>`, 'age'],
      ])}</div>
      <div class="buttons">
        ${pages.buttons(value?.next)}
        <${Exports} filter=${filter} />
      </div>
      <p class="hint">Failed sign-ins of one address and hour are one entry. Entries have no secrets.</p>
    </${Card}>
  </div>`
}

function Filters({ asked, onAsked }: { asked: Asked; onAsked: (asked: Asked) => void }) {
  const [draft, setDraft] = useState(asked)
  const field = (name: keyof Asked) => ({
    value: draft[name],
    onInput: (text: string) => setDraft({ ...draft, [name]: text }),
  })
  const text = { spellcheck: false, autocomplete: 'off', maxlength: 100 }
  const clear = (): void => {
    setDraft(NOTHING_ASKED)
    onAsked(NOTHING_ASKED)
  }
  return html`<${Card} title="Filter">
    <form onSubmit=${submitting(() => onAsked(draft))}>
      <div class="two">
        <${InputField} label="Account" ...${field('account')} input=${{ ...text, placeholder: 'email or id' }} />
        <${InputField} label="Action" ...${field('action')} input=${{ ...text, placeholder: 'such as key.create' }} />
        <${Choice} label="Outcome" ...${field('outcome')} options=${OUTCOMES} />
        <${InputField} label="From" type="datetime-local" ...${field('from')} />
        <${InputField} label="Until" type="datetime-local" ...${field('until')} />
      </div>
      <div class="buttons">
        <button>Apply</button>
        <button type="button" class="plain" onClick=${clear}>Clear</button>
      </div>
    </form>
  </${Card}>`
}

/** Shows who acted, from where and with what. A click shows only the entries of the account. */
function whoOf(entry: AuditEntry, onAccount: (account: string) => void) {
  const { account, email, actor, credential, credentialId, address } = entry
  const who = email ?? account ?? 'Unknown'
  const by = credential === null ? null : `${credential} ${credentialId}`
  return html`${account === null ? who : html`<button type="button" class="plain small link" aria-label=${`Only ${who}`} onClick=${() => onAccount(account)}>${who}</button>`}
    <span class="under">${[actor === 'account' ? null : actor, by, address].filter(Boolean).join(' · ')}</span>`
}

function Exports({ filter }: { filter: AuditFilter }) {
  const { client } = useSession()
  const { run, isBusy, error } = useAction()
  const save = (format: (typeof FORMATS)[number]) => (): void =>
    void run(async () => {
      const pieces: BlobPart[] = []
      for await (const piece of client.owner.exportAudit(format, filter)) pieces.push(new Uint8Array(piece))
      saveAs(new Blob(pieces), `audit.${format}`)
    })
  return html`${FORMATS.map(
    format =>
      html`<button key=${format} class="small" disabled=${isBusy} onClick=${save(format)}>
        ${format === 'csv' ? 'Export as CSV' : 'Export as JSON lines'}
      </button>`,
  )}
  <${FieldProblem} text=${error} />`
}

function filterOf({ account, action, outcome, from, until }: Asked): AuditFilter {
  return {
    account: account.trim() || undefined,
    action: action.trim() || undefined,
    outcome: outcome || undefined,
    from: instantIn(from),
    until: instantIn(until),
  }
}
