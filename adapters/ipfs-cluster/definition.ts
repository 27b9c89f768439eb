import Type from 'typebox'
import { type BackendKind, type BackendProblems, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { authFields, checkApi, gatewaysField } from '../remote/definition-fields.ts'
import type { IpfsClusterBackendDefinition } from './options.ts'

/** -1 means all peers. */
const peers = (description: string, defaultText: string) =>
  Type.Optional(
    Type.Union([Type.Literal(-1), Type.Integer({ minimum: 1, maximum: 1_000 })], { description, defaultText }),
  )

const schema = Type.Object(
  {
    type: Type.Literal('ipfs-cluster', { description: '`ipfs-cluster`.' }),
    api: configText('The URL of the REST API of one peer, such as `http://10.0.0.5:9094`.'),
    ...authFields('A file with the credentials for the API: `basic:<user>:<password>` or `bearer:<token>`.'),
    ...gatewaysField(
      'URLs of trustless gateways that serve the content, such as those of the peers. They are tried in this order.',
      'none: all content also stays on this disk',
    ),
    replicationMin: peers(
      'How many peers, each with its own IPFS node, must have all blocks before a pin is `pinned`; `-1` for all.',
      'the setting of the cluster',
    ),
    replicationMax: peers('How many peers should have the content; `-1` for all.', '`replicationMin`'),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'IpfsClusterBackendDefinition',
    description: 'A cluster on an IPFS Cluster, over the REST API of one of its peers.',
  },
)

export const ipfsClusterKind: BackendKind<IpfsClusterBackendDefinition> = {
  type: 'ipfs-cluster',
  schema,
  check: (definition, problems) => {
    checkApi(definition, problems)
    checkReplication(definition, problems)
  },
  placeOf: ({ api }) => `ipfs-cluster ${withoutTrailingSlashes(api)}`,
}

function checkReplication(
  { replicationMin: min, replicationMax: max }: IpfsClusterBackendDefinition,
  problems: BackendProblems,
): void {
  if (max === undefined) return
  if (min === undefined) throw problems.fail('replicationMax', 'requires replicationMin')
  if (max < 0 !== min < 0) problems.fail('replicationMax', 'must be -1 if, and only if, replicationMin is -1')
  if (max < min) problems.fail('replicationMax', `must be at least replicationMin, ${min}`)
}
