import { Type } from 'typebox'
import type { ContractRoute } from '../../contract/contract-route.ts'
import { type DescribedApi, openApiDocument } from '../../contract/openapi/openapi-document.ts'
import { openApiRoute } from '../../contract/openapi-route.ts'
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

export const psaDocsRoute: ContractRoute = openApiRoute('The pinning service API description as OpenAPI', version =>
  openApiDocument(psaRoutes, version, PSA),
)
