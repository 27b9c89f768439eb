import { PAGE_HEADERS } from '../gateway/pages/html.ts'
import type { RequestContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { type OpenApiDocument, openApiDocument, type Row } from './openapi/document.ts'
import { documentationPage } from './openapi/page.ts'

/** The description of the contract, made from the route table when somebody first asks. */
export class DocsRoutes {
  readonly #rows: () => readonly Row[]
  readonly #version: string
  #document: OpenApiDocument | undefined

  /** `rows` are those of the table, their paths below the base. */
  constructor(rows: () => readonly Row[], version: string) {
    this.#rows = rows
    this.#version = version
  }

  /** GET /openapi.json. */
  document = (): ApiResponse => ({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
    body: JSON.stringify(this.#described()),
  })

  /** GET /docs. */
  page = ({ request }: RequestContext): ApiResponse => ({
    status: 200,
    headers: { ...PAGE_HEADERS, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' },
    body: documentationPage(this.#described(), request.path.endsWith('/') ? '../openapi.json' : 'openapi.json'),
  })

  #described(): OpenApiDocument {
    this.#document ??= openApiDocument(this.#rows(), this.#version)
    return this.#document
  }
}
