/** Result of one check of `holdfast doctor`. The remedy is empty if the level is `ok`. */
export interface CheckResult {
  check: string
  level: 'ok' | 'warning' | 'fault'
  text: string
  remedy: string
}

export function fine(check: string, text: string): CheckResult {
  return { check, level: 'ok', text, remedy: '' }
}

export function warning(check: string, text: string, remedy: string): CheckResult {
  return { check, level: 'warning', text, remedy }
}

export function fault(check: string, text: string, remedy: string): CheckResult {
  return { check, level: 'fault', text, remedy }
}
