import type { TargetOptions } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Choice, InputField } from '../widgets/field.ts'
import { instantIn } from '../widgets/shown-values.ts'

/** Cluster and expiry as typed. An empty value selects the account's default. */
export interface Target {
  cluster: string
  /** Local time, such as `2030-01-31T12:00`. */
  ends: string
}

export const ANYWHERE: Target = { cluster: '', ends: '' }

export function TargetFields({ target, onChange }: { target: Target; onChange: (target: Target) => void }) {
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

export function targetOptions({ cluster, ends }: Target): TargetOptions {
  return { cluster: cluster === '' ? undefined : cluster, timelock: instantIn(ends) }
}
