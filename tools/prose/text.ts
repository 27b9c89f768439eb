/** A passage of text for people, without markup: a paragraph, a list item, a table cell, a message or a title. */
export interface Passage {
  kind: Kind
  /** Text in one line. Code is replaced by `x`, so that no rule checks it. */
  value: string
  start: number
}

/** Kinds of passages. A `tag` is a line such as `@throws`, which may separate cases by semicolons. */
export type Kind = 'docstring' | 'tag' | 'comment' | 'message' | 'title' | 'paragraph' | 'heading' | 'subject'

const LIST_ITEM = /^\s*(?:[-*]|\d+\.)\s+(?:\[.\]\s+)?/
const TAG = /^@\w+\s*(?:\{[^}]*\}\s*)?/

export interface Line {
  value: string
  start: number
}

/** A row of a command's help: a flag, or words in two columns. */
const ROW = /\S {2,}\S|^ *--\w/

/** Splits lines into passages at blank lines, list items, rows and docstring tags. Fenced code is omitted. */
export function passages(lines: Line[], kind: Kind): Passage[] {
  const found: Passage[] = []
  let open: Passage | undefined
  let fenced = false
  for (const { value, start } of lines) {
    const fence = /^\s*(?:```|~~~)/.test(value)
    if (fence) fenced = !fenced
    const tag = TAG.test(value)
    const begins = tag || LIST_ITEM.test(value) || (kind === 'message' && ROW.test(value))
    if (fence || fenced || value.trim() === '' || begins) open = undefined
    if (fence || fenced || value.trim() === '') continue
    const words = value.replace(LIST_ITEM, '').replace(TAG, '').trim()
    open ??= next(found, { kind: tag ? 'tag' : kind, value: '', start })
    open.value += `${words} `
  }
  return found.map(passage => ({ ...passage, value: plain(passage.value) }))
}

function next(found: Passage[], passage: Passage): Passage {
  found.push(passage)
  return passage
}

/** Removes the markup of Markdown and docstrings, and replaces code by `x`. */
export function plain(text: string): string {
  return text
    .replaceAll(/(`+)[^`].*?\1/g, 'x')
    .replaceAll(/\{@link\s+[^}]*\}/g, 'x')
    .replaceAll(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replaceAll(/<\/?[a-z][^>]*>/gi, ' ')
    .replaceAll(/https?:\/\/\S+/g, 'x')
    .replaceAll(/\*\*|__/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
