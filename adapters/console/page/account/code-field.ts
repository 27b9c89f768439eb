import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { InputField } from '../widgets/field.ts'

/** Renders nothing if the account has no second factor. */
export function CodeField({ value, onInput }: { value: string; onInput: (value: string) => void }) {
  const { user } = useSession()
  if (!user.twoFactorEnabled) return null
  return html`<${InputField} label="Code of your second factor" value=${value} onInput=${onInput}
    input=${{ required: true, autocomplete: 'one-time-code', spellcheck: false }} />`
}

export function typedCode(typed: string): string | undefined {
  return typed.trim() || undefined
}
