/** Returns what a form cannot carry in a name, or null. */
export function formTrouble(name: string): string | null {
  if (/[\0\uef00\r\n]/.test(name)) return 'a line break'
  if (name.includes('\\')) return 'a backslash'
  return name.includes('%22') ? '%22' : null
}
