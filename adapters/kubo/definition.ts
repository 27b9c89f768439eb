import Type from 'typebox'
import { type BackendKind, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { authFields, checkApi, gatewaysField } from '../remote/definition-fields.ts'
import type { KuboBackendDefinition } from './options.ts'

const schema = Type.Object(
  {
    type: Type.Literal('kubo', { description: '`kubo`.' }),
    api: configText('The URL of its RPC API, such as `http://10.0.0.5:5001`.'),
    ...authFields(
      'A file with one of the credentials in the `API.Authorizations` of Kubo, in the same form: `bearer:<token>` or `basic:<user>:<password>`.',
    ),
    ...gatewaysField(
      'URLs of trustless gateways that serve the content. They are tried in this order.',
      'none: the RPC API serves it',
    ),
    acceptUnsyncedBackend: Type.Optional(
      Type.Boolean({
        description:
          'Accepts a Kubo that does not sync its writes. A power cut of its machine may lose pinned content.',
        defaultText: '`false`',
      }),
    ),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'KuboBackendDefinition',
    description: 'A cluster on a Kubo node, over its RPC API.',
  },
)

export const kuboKind: BackendKind<KuboBackendDefinition> = {
  type: 'kubo',
  schema,
  check: checkApi,
  placeOf: ({ api }) => `kubo ${kuboBase(api)}`,
}

/** Returns the base URL of an RPC API, without `/api/v0`. */
export function kuboBase(api: string): string {
  return withoutTrailingSlashes(withoutTrailingSlashes(api).replace(/\/api\/v0$/, ''))
}
