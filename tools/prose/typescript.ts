import { parseSync } from 'vite'
import { type Kind, type Line, type Passage, passages, plain } from './text.ts'

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

type Comment = ReturnType<typeof parseSync>['comments'][number]

/** Comments with instructions for tools. */
const DIRECTIVE = /^\s*(?:biome-ignore|@ts-|v8 ignore|\/ ?<reference|@vitest)/
const SQL =
  /\b(?:SELECT|FROM|WHERE|VALUES|UPDATE|DELETE|CREATE|ALTER|ORDER BY|ON CONFLICT|PRAGMA|RETURNING|UNION|JOIN|AS|IS NULL)\b/
const TITLED = new Set(['test', 'it', 'describe'])
/** Attributes of HTML with text for people. */
const READ_ATTRIBUTE = /\b(?:aria-label|title|placeholder|alt|label|hint|name)="([^"]*)"/g

/**
 * Returns the comments and messages of a TypeScript file. A message is a text of four words or more that is not SQL. In
 * a test only titles count, because most of its texts are input.
 */
export function typescriptPassages(path: string, text: string): Passage[] {
  const { program, comments } = parseSync(path, text)
  const found = commentRuns(comments, text)
  visit(program, found, path.startsWith('test/') ? 'title' : 'message')
  return found
}

function commentRuns(comments: Comment[], text: string): Passage[] {
  const found: Passage[] = []
  let run: Line[] = []
  let end = -1
  const close = () => {
    found.push(...passages(run, 'comment'))
    run = []
  }
  for (const comment of comments) {
    if (DIRECTIVE.test(comment.value)) continue
    if (comment.type === 'Block') {
      found.push(...blockPassages(comment))
      continue
    }
    if (end < 0 || !/^\r?\n[ \t]*$/.test(text.slice(end, comment.start))) close()
    run.push({ value: comment.value, start: comment.start })
    end = comment.end
  }
  close()
  return found
}

function blockPassages({ value, start }: Comment): Passage[] {
  const kind = value.startsWith('*') ? 'docstring' : 'comment'
  let at = start + 2
  const lines = value.split('\n').map(line => {
    const of = { value: line.replace(/^\s*\*?\s?/, ''), start: at }
    at += line.length + 1
    return of
  })
  return passages(lines, kind)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function visit(value: unknown, found: Passage[], kind: Kind): void {
  if (Array.isArray(value)) for (const item of value) visit(item, found, kind)
  if (!isNode(value) || value.type === 'ImportDeclaration') return
  found.push(...(kind === 'title' ? titlePassages(value) : messagePassages(value, kind)))
  for (const child of unread(value)) visit(child, found, kind)
}

function titlePassages(node: Node): Passage[] {
  if (node.type !== 'CallExpression' || !TITLED.has(calledName(node))) return []
  const title = textOf((node.arguments as unknown[])[0])
  return title === undefined ? [] : [{ kind: 'title', value: plain(title), start: node.start }]
}

function messagePassages(node: Node, kind: Kind): Passage[] {
  if (isMarkup(node)) return htmlPassages(node.quasi as Node)
  const message = textOf(node)
  return message === undefined || !isProse(message) ? [] : passages(linesAt(message, node.start), kind)
}

/** Returns the child nodes to visit. A tagged template has only its expressions, joined texts have none. */
function unread(node: Node): unknown[] {
  if (node.type === 'TaggedTemplateExpression') return [(node.quasi as Node).expressions]
  return node.type === 'BinaryExpression' && textOf(node) !== undefined ? [] : Object.values(node)
}

function isMarkup(node: Node): boolean {
  return node.type === 'TaggedTemplateExpression' && isNode(node.tag) && node.tag.name === 'html'
}

function isProse(text: string): boolean {
  return /(?:[\w'’,;:-]+ ){3}/.test(text) && !SQL.test(text)
}

function linesAt(text: string, start: number): Line[] {
  return text.split('\n').map(value => ({ value, start }))
}

/** Returns the text of a literal, a template or texts joined by `+`. Each expression counts as the word `x`. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type === 'TemplateLiteral') return templateText(node)
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined
  const [left, right] = [node.left, node.right].map(textOf)
  return left === undefined && right === undefined ? undefined : `${left ?? 'x'}${right ?? 'x'}`
}

function templateText(template: Node): string {
  const parts = template.quasis as Array<{ value: { cooked: string | null } }>
  return parts.map(part => part.value.cooked ?? '').join('x')
}

/** Returns the texts between the tags of an HTML template, and its attributes with text. */
function htmlPassages(template: Node): Passage[] {
  const markup = templateText(template)
  const texts = [...markup.split(/<[^>]*>/), ...[...markup.matchAll(READ_ATTRIBUTE)].map(match => match[1] ?? '')]
  return texts
    .map(text => text.replaceAll(/\s+/g, ' ').trim())
    .filter(isProse)
    .map(value => ({ kind: 'message', value: plain(value), start: template.start }))
}

/** Returns the name of the called function: `test` for `test.each([…])('…')`. */
function calledName(call: Node): string {
  let callee = call.callee
  while (isNode(callee) && callee.type !== 'Identifier') callee = callee.callee ?? callee.object ?? callee.tag
  return isNode(callee) ? String(callee.name) : ''
}
