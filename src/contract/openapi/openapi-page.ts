import { escapeHtml } from '../../gateway/pages/html.ts'
import type { MediaTypes, OpenApiDocument, OpenApiOperation } from './openapi-document.ts'
import { PAGE_STYLE } from './page-style.ts'
import { fieldsOf, type JsonSchema, type ListedField, typeText } from './schema-text.ts'
import { SNIPPETS, type Snippet } from './snippets.ts'

/** Component schemas of the document, by name. */
type Schemas = Readonly<Record<string, JsonSchema>>

/**
 * Renders the document as an HTML page without scripts or external resources.
 *
 * @param source URL of the JSON document, relative to the page
 */
export function documentationPage({ info, paths, components }: OpenApiDocument, source: string): string {
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const tags = [...new Set(entries.flatMap(({ operation }) => operation.tags))]
  const sections = tags.map(tag => {
    const own = entries.filter(({ operation }) => operation.tags.includes(tag))
    const id = anchor(tag)
    return `<section id="${id}"><h2><a href="#${id}">${escapeHtml(tag)}</a></h2>${own
      .map(({ method, path, operation }) => operationBlock(method, path, operation, components.schemas))
      .join('\n')}</section>`
  })
  const nav = tags.map(tag => `<a href="#${anchor(tag)}">${escapeHtml(tag)}</a>`).join(' ')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(info.title)} API</title><style>${PAGE_STYLE}</style></head>
<body><main><header><h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
${paragraphs(info.description)}<nav>${nav} <a href="${escapeHtml(source)}">openapi.json</a></nav></header>
<section id="begin"><h2><a href="#begin">Examples</a></h2><p>In each example, <code>HOLDFAST_API</code> is the address of
this API, ending in <code>/api/v3</code>, and <code>HOLDFAST_API_KEY</code> is a key.</p>
${SNIPPETS.map(snippetBlock).join('\n')}</section>
${sections.join('\n')}</main></body></html>
`
}

function operationBlock(method: string, path: string, operation: OpenApiOperation, schemas: Schemas): string {
  const { summary, description, security, parameters, requestBody, responses } = operation
  const inputs = parameters.map(({ name, in: place, schema, description: text, required }) => {
    return { name, type: `${place}, ${typeText(schema as JsonSchema)}`, required: required === true, description: text }
  })
  return `<details id="${anchor(`${method} ${path}`)}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(
    path,
  )}</code> <span>${inline(summary)}</span></summary>
<div>${description === undefined ? '' : paragraphs(description)}<p>${accessText(security)}</p>
${inputs.length === 0 ? '' : `<h3>Parameters</h3>${fieldTable(inputs)}`}
${requestBody === undefined ? '' : `<h3>Body</h3>${contentBlock(requestBody.content, schemas)}`}
<h3>Answers</h3>${Object.entries(responses)
    .map(([status, answer]) => answerBlock(status, answer, schemas))
    .join('')}</div></details>`
}

function accessText(security: OpenApiOperation['security']): string {
  const [first] = security
  if (first === undefined) return 'No credential needed.'
  const scopes = Object.values(first).flat()
  return scopes.length === 0 ? 'Any valid credential.' : `Scope <code>${scopes.map(escapeHtml).join(', ')}</code>.`
}

function answerBlock(status: string, answer: OpenApiOperation['responses'][string], schemas: Schemas): string {
  const head = `<h4><b class="s${status[0]}">${status}</b> ${escapeHtml(answer.description)}`
  if (Number(status) < 400) return `${head}</h4>${contentBlock(answer.content, schemas)}`
  return `${head} <code>${codesOf(answer.content).map(escapeHtml).join('</code> <code>')}</code></h4>`
}

function codesOf(content: MediaTypes): string[] {
  return Object.values(content).flatMap(({ schema }) => {
    const parts = (schema as { allOf?: readonly JsonSchema[] }).allOf ?? []
    return parts.flatMap(part => part.properties?.code?.enum?.map(String) ?? [])
  })
}

function contentBlock(content: MediaTypes, schemas: Schemas): string {
  return Object.entries(content)
    .map(([type, { schema }]) => {
      const resolved = resolve(schema, schemas)
      const shape = resolved.items === undefined ? '' : ', an array'
      const fields = fieldsOf(resolved)
      return `<p><code>${escapeHtml(type)}</code>${shape}</p>${fields.length === 0 ? '' : fieldTable(fields)}`
    })
    .join('')
}

function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (schemas[name] ?? schema)
}

function fieldTable(fields: readonly ListedField[]): string {
  const rows = fields.map(
    ({ name, type, required, description }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${required ? '' : ' <i>optional</i>'}</td>` +
      `<td>${escapeHtml(type)}</td><td>${inline(description)}</td></tr>`,
  )
  return `<table><tbody>${rows.join('')}</tbody></table>`
}

function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map(paragraph => `<p>${inline(paragraph)}</p>`)
    .join('')
}

/** Renders inline Markdown: backticks for code, double asterisks for strong text. */
function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
}

function snippetBlock({ language, text }: Snippet): string {
  return `<details id="in-${anchor(language)}"><summary><b>${language}</b> <span>uploads a file and lists the uploads</span></summary>
<div><pre><code>${escapeHtml(text)}</code></pre></div></details>`
}

function anchor(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}
