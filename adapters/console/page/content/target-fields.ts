import type { TargetOptions, Upload } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { instantIn } from '../widgets/shown-values.ts'

/** Cluster, readers and expiry as typed. An empty value selects the account's default. */
export interface Target {
  cluster: string
  visibility: '' | Upload['visibility']
  /** Local time, such as `2030-01-31T12:00`. */
  ends: string
}

export const ANYWHERE: Target = { cluster: '', visibility: '', ends: '' }

interface TargetProps {
  target: Target
  onChange: (target: Target) => void
}

export const READER_CHOICES = [
  ['public', 'Anyone with the CID'],
  ['private', 'Only this account'],
] as const

export function ReadersField({ target, onChange, label = 'Readers' }: TargetProps & { label?: string }) {
  const { user } = useSession()
  return html`<${Choice} label=${label} value=${target.visibility || user.defaultVisibility} options=${READER_CHOICES}
    onInput=${(visibility: Upload['visibility']) => onChange({ ...target, visibility })} />`
}

export function TargetFields({ target, onChange }: TargetProps) {
  const { clusters, user } = useSession()
  const options = [
    ['', 'The account’s own'] as const,
    ...clusters.map(({ id, label }) => [id, `${label} (${id})`] as const),
  ]
  return html`<div class="two">
    <${Choice} label="Cluster" value=${target.cluster} options=${options}
      onInput=${(cluster: string) => onChange({ ...target, cluster })} />
    ${
      user.planDetails.timelock
        ? html`<${InputField} label="Ends" type="datetime-local" value=${target.ends} hint="Empty: kept until deleted."
            onInput=${(ends: string) => onChange({ ...target, ends })} />`
        : html`<p class="hint">Your plan has no expiring pins.</p>`
    }
  </div>`
}

export function targetOptions({ cluster, visibility, ends }: Target): TargetOptions {
  return { cluster: cluster || undefined, visibility: visibility || undefined, timelock: instantIn(ends) }
}
