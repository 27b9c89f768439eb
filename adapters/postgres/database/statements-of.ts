/** Advisory lock of everything that changes the schema. */
export const SCHEMA_LOCK = 0x484f4c44

/** Splits SQL at each semicolon at the end of a line outside `$$` quotes. */
export function statementsOf(text: string): string[] {
  const statements: string[] = []
  let open = ''
  for (const line of text.split('\n')) {
    open += `${line}\n`
    const isQuoted = open.split('$$').length % 2 === 0
    if (isQuoted || !line.trimEnd().endsWith(';')) continue
    statements.push(open.trim())
    open = ''
  }
  return statements
}
