import Type from 'typebox'
import { type BackendKind, type BackendProblems, keptHereFields } from '../../src/config/backend-kind.ts'
import { closed, configText } from '../../src/config/schema-parts.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { authFields, checkApi, gatewaysField } from '../remote/definition-fields.ts'
import type { IpfsClusterBackendDefinition } from './options.ts'

/** A number of peers; -1 for all. */
const peers = (description: string, defaultText: string) =>
  Type.Optional(
    Type.Union([Type.Literal(-1), Type.Integer({ minimum: 1, maximum: 1_000 })], { description, defaultText }),
  )

const schema = Type.Object(
  {
    type: Type.Literal('ipfs-cluster', { description: '`ipfs-cluster`.' }),
    api: configText('The base of the REST API of one of its peers, such as `http://10.0.0.5:9094`.'),
    ...authFields('A file with what the API asks for: `basic:<user>:<password>` or `bearer:<token>`.'),
    ...gatewaysField(
      'Bases of trustless gateways by which the content is read, such as those of its peers, in the order in which they are asked.',
      'none: all of it stays here, too',
    ),
    replicationMin: peers(
      'How many of its peers have to have all of a content before it is `pinned`, each in an IPFS of its own; `-1` for all.',
      'as the cluster is configured',
    ),
    replicationMax: peers('How many of its peers are to have it; `-1` for all.', '`replicationMin`'),
    ...keptHereFields,
  },
  {
    ...closed,
    title: 'IpfsClusterBackendDefinition',
    description: 'A cluster that an IPFS Cluster keeps, over the REST API of one of its peers.',
  },
)

/** The configuration of clusters that an IPFS Cluster keeps. */
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
  if (min === undefined) throw problems.fail('replicationMax', 'belongs to replicationMin')
  if (max < 0 !== min < 0) problems.fail('replicationMax', 'must be -1 where replicationMin is, and only there')
  if (max < min) problems.fail('replicationMax', `must not be under replicationMin, ${min}`)
}
