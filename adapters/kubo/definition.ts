import Type from 'typebox'
import { type BackendKind, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { authFields, checkApi, gatewaysField } from '../remote/definition-fields.ts'
import type { KuboBackendDefinition } from './options.ts'

const schema = Type.Object(
  {
    type: Type.Literal('kubo', { description: '`kubo`.' }),
    api: configText('The address of its RPC, such as `http://10.0.0.5:5001`.'),
    ...authFields(
      'A file with what its `API.Authorizations` asks for, in the same form: `bearer:<token>` or `basic:<user>:<password>`.',
    ),
    ...gatewaysField(
      'Bases of trustless gateways by which the content is read, in the order in which they are asked.',
      'none: by the RPC',
    ),
    acceptUnsyncedBackend: Type.Optional(
      Type.Boolean({
        description:
          'Takes content for pinned although the Kubo syncs nothing of it, so that it may be lost there with the power.',
        defaultText: '`false`',
      }),
    ),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'KuboBackendDefinition',
    description: 'A cluster that a Kubo keeps, over its RPC.',
  },
)

/** The configuration of clusters that a Kubo keeps. */
export const kuboKind: BackendKind<KuboBackendDefinition> = {
  type: 'kubo',
  schema,
  check: checkApi,
  placeOf: ({ api }) => `kubo ${kuboBase(api)}`,
}

/** Returns the address of an RPC without the path that all its commands share. */
export function kuboBase(api: string): string {
  return withoutTrailingSlashes(withoutTrailingSlashes(api).replace(/\/api\/v0$/, ''))
}
