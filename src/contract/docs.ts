import { PAGE_HEADERS } from '../gateway/pages/html.ts'
import { text } from './answer-fields.ts'
import { type ContractRoute, route } from './contract-route.ts'
import { type OpenApiDocument, openApiDocument } from './openapi/openapi-document.ts'
import { documentationPage } from './openapi/openapi-page.ts'
import { openApiRoute } from './openapi-route.ts'

/**
 * Returns the routes that serve the OpenAPI document as JSON and as a page. The first request builds the document.
 *
 * @param routes returns the routes to describe
 */
export function docsRoutes(routes: () => readonly ContractRoute[]): readonly ContractRoute[] {
  let described: OpenApiDocument | undefined
  const description = (version: string): OpenApiDocument => {
    described ??= openApiDocument(routes(), version)
    return described
  }
  return [
    openApiRoute('The API description as OpenAPI', description),
    route({
      method: 'GET',
      path: '/docs',
      access: 'public',
      tag: 'Node',
      summary: 'The API description as a page',
      answers: { 200: { media: 'text/html', schema: text } },
      handler: ({ request }, { version }) => {
        const source = request.path.endsWith('/') ? '../openapi.json' : 'openapi.json'
        return {
          status: 200,
          headers: { ...PAGE_HEADERS, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' },
          body: documentationPage(description(version), source),
        }
      },
    }),
  ]
}
