import type { Usage } from '../../../client/index.ts'
import { html } from '../markup.ts'

/** Limits of a plan. Null means no limit. */
export interface PlanLimits {
  id: string
  maxStorageBytes: number | null
  maxPins: number | null
}

/** Share of a limit from which an account is near it. */
const NEAR = 0.8

/** Warns of an account that has used most of its plan. Renders nothing below that. */
export function UsageAlert({ usage, limits }: { usage: Usage; limits: PlanLimits | undefined }) {
  const used = usedShare(usage, limits)
  if (used < NEAR) return null
  const words = used >= 1 ? 'plan is full' : `${Math.floor(used * 100)} % of its plan`
  return html`<span class=${used >= 1 ? 'badge bad' : 'badge wait'}>${words}</span>`
}

/** Returns the share of the limit that is nearest, from 0 to 1 or more. */
function usedShare({ storedBytes, pins }: Usage, limits: PlanLimits | undefined): number {
  const { maxStorageBytes = null, maxPins = null } = limits ?? {}
  return Math.max(shareOf(storedBytes, maxStorageBytes), shareOf(pins, maxPins))
}

function shareOf(used: number, most: number | null): number {
  if (most === null) return 0
  return most === 0 ? 1 : used / most
}
