import Type from 'typebox'
import { type BackendKind, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText, optionalText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import type { HoldfastBackendDefinition } from './options.ts'

const schema = Type.Object(
  {
    type: Type.Literal('holdfast', { description: '`holdfast`.' }),
    url: configText("The base of the other node's contract, such as `https://pins.example.org/api/v3`."),
    cluster: configText('The name of the cluster on the other node, which must keep that cluster itself.'),
    keyFile: optionalText(
      'A file with a key of an account there that is used for nothing else. It needs the scopes `files:read`, `files:write` and `files:delete`.',
    ),
    keyEnv: optionalText(
      'The environment variable that has the key, which itself never stands in the configuration. One of `keyFile` and `keyEnv` is needed.',
    ),
    gateway: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The base of a trustless gateway by which the content is read.',
        defaultText: "that of `url`'s server",
      }),
    ),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'HoldfastBackendDefinition',
    description:
      'A cluster that another Holdfast keeps, over its HTTP contract. One of `keyFile` and `keyEnv` is needed.',
  },
)

/** The configuration of clusters that another Holdfast keeps. */
export const holdfastKind: BackendKind<HoldfastBackendDefinition> = {
  type: 'holdfast',
  schema,
  check: ({ url, gateway, keyFile, keyEnv }, problems) => {
    problems.url('url', url)
    problems.url('gateway', gateway)
    if ((keyFile === undefined) === (keyEnv === undefined)) problems.fail('', 'needs either keyFile or keyEnv')
  },
  placeOf: ({ url, cluster }) => `holdfast ${withoutTrailingSlashes(url)} ${cluster}`,
}
