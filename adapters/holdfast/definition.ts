import Type from 'typebox'
import { type BackendKind, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText, optionalText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import type { HoldfastBackendDefinition } from './options.ts'

const schema = Type.Object(
  {
    type: Type.Literal('holdfast', { description: '`holdfast`.' }),
    url: configText("The URL of the other node's API, such as `https://pins.example.org/api/v3`."),
    cluster: configText('The name of the cluster on the other node, which must keep that cluster itself.'),
    keyFile: optionalText(
      'A file with a key of an account on the other node. The key needs the scopes `files:read`, `files:write` and `files:delete`. Use the account for nothing else.',
    ),
    keyEnv: optionalText('The environment variable with the key. Set either `keyFile` or `keyEnv`.'),
    gateway: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The URL of a trustless gateway that serves the content.',
        defaultText: "that of `url`'s server",
      }),
    ),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'HoldfastBackendDefinition',
    description: 'A cluster on another Holdfast, over its HTTP API. Set either `keyFile` or `keyEnv`.',
  },
)

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
