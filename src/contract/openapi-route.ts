import { Type } from 'typebox'
import { type ContractRoute, route } from './contract-route.ts'
import type { OpenApiDocument } from './openapi/openapi-document.ts'

/** Returns the route that serves an OpenAPI document as JSON. The first request builds the document. */
export function openApiRoute(summary: string, documentOf: (version: string) => OpenApiDocument): ContractRoute {
  let body: string | undefined
  return route({
    method: 'GET',
    path: '/openapi.json',
    access: 'public',
    tag: 'Node',
    summary,
    answers: { 200: { media: 'application/json', schema: Type.Object({}, { additionalProperties: true }) } },
    handler: (_, { version }) => {
      body ??= JSON.stringify(documentOf(version))
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' }
      return { status: 200, headers, body }
    },
  })
}
