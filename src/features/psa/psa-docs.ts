import { Type } from 'typebox'
import { type ContractRoute, route } from '../../contract/contract-route.ts'
import { type DescribedApi, openApiDocument } from '../../contract/openapi/openapi-document.ts'
import { PUBLIC_NOTICE } from '../../domain/public-notice.ts'
import { psaRoutes } from './psa-pins.ts'

const PSA: DescribedApi = {
  title: 'Holdfast: the IPFS Pinning Service API',
  description: `The records of an account, in the format of the specification.

**${PUBLIC_NOTICE}**`,
  server: '../psa',
  error: Type.Object({ error: Type.Object({ reason: Type.String(), details: Type.String() }) }),
  errorWith: codes => {
    const reason = Type.Enum(codes.map(code => code.toUpperCase()))
    return Type.Object({ error: Type.Object({ reason }) })
  },
}

export const psaDocsRoute: ContractRoute = route({
  method: 'GET',
  path: '/openapi.json',
  access: 'public',
  tag: 'Node',
  summary: 'The pinning service API description as OpenAPI',
  answers: { 200: { media: 'application/json', schema: Type.Object({}, { additionalProperties: true }) } },
  handler: (_, { version }) => ({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
    body: JSON.stringify(openApiDocument(psaRoutes, version, PSA)),
  }),
})
