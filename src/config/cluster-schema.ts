import Type from 'typebox'
import { NODE_ID } from './node-schema.ts'
import { closed, defaulted, orNull, text } from './schema-parts.ts'

const gatewaySchema = Type.Object({ label: Type.String(), publicUrl: text(), url: Type.Optional(text()) }, closed)

const none = (description: string) => Type.Optional(Type.String({ minLength: 1, description, defaultText: 'none' }))

const whatStaysHere = {
  cacheBytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "Bytes of the cluster's content that stay on this disk to be read again.",
      defaultText: '`1073741824` (1 GiB)',
    }),
  ),
  localGraceSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description:
        'For how long all of a content stays on this disk once it is there, and until a check has confirmed it; more than `cacheBytes` if need be. The cluster is checked at least twice in this time: `0`, or at least `120`.',
      defaultText: '`86400` (a day)',
    }),
  ),
}

const holdfastBackendSchema = Type.Object(
  {
    type: Type.Literal('holdfast', { description: '`holdfast`.' }),
    url: text("The base of the other node's contract, such as `https://pins.example.org/api/v3`."),
    cluster: text('What the cluster is called there. It has to be one that the other node keeps itself.'),
    keyFile: none(
      'A file with a key of an account there that is used for nothing else. It needs the scopes `files:read`, `files:write` and `files:delete`.',
    ),
    keyEnv: none(
      'The environment variable that has the key, which itself never stands in the configuration. One of `keyFile` and `keyEnv` is needed.',
    ),
    gateway: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The base of a trustless gateway by which the content is read.',
        defaultText: "that of `url`'s server",
      }),
    ),
    ...whatStaysHere,
  },
  closed,
)

const kuboBackendSchema = Type.Object(
  {
    type: Type.Literal('kubo', { description: '`kubo`.' }),
    api: text('The address of its RPC, such as `http://10.0.0.5:5001`.'),
    authFile: none(
      'A file with what its `API.Authorizations` asks for, in the same form: `bearer:<token>` or `basic:<user>:<password>`.',
    ),
    authEnv: none('The environment variable that has it, in the place of `authFile`.'),
    gateways: Type.Optional(
      Type.Array(text(), {
        maxItems: 16,
        description: 'Bases of trustless gateways by which the content is read, in the order in which they are asked.',
        defaultText: 'none: by the RPC',
      }),
    ),
    acceptUnsyncedBackend: Type.Optional(
      Type.Boolean({
        description:
          'Takes content for pinned although the Kubo syncs nothing of it, so that it may be lost there with the power.',
        defaultText: '`false`',
      }),
    ),
    ...whatStaysHere,
  },
  closed,
)

/** Of peers; -1 for all. */
const peers = (description: string, defaultText: string) =>
  Type.Optional(
    Type.Union([Type.Literal(-1), Type.Integer({ minimum: 1, maximum: 1_000 })], { description, defaultText }),
  )

const ipfsClusterBackendSchema = Type.Object(
  {
    type: Type.Literal('ipfs-cluster', { description: '`ipfs-cluster`.' }),
    api: text('The base of the REST API of one of its peers, such as `http://10.0.0.5:9094`.'),
    authFile: none('A file with what the API asks for: `basic:<user>:<password>` or `bearer:<token>`.'),
    authEnv: none('The environment variable that has it, in the place of `authFile`.'),
    gateways: Type.Optional(
      Type.Array(text(), {
        maxItems: 16,
        description:
          'Bases of trustless gateways by which the content is read, such as those of its peers, in the order in which they are asked.',
        defaultText: 'none: all of it stays here, too',
      }),
    ),
    replicationMin: peers(
      'How many of its peers have to have all of a content before it is `pinned`, each in an IPFS of its own; `-1` for all.',
      'as the cluster is configured',
    ),
    replicationMax: peers('How many of its peers are to have it; `-1` for all.', '`replicationMin`'),
    ...whatStaysHere,
  },
  closed,
)

/** By type. */
export const backendSchemas = {
  holdfast: holdfastBackendSchema,
  kubo: kuboBackendSchema,
  'ipfs-cluster': ipfsClusterBackendSchema,
}

/** A cluster in a configuration, of which the rest is filled in. */
export const clusterSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description: 'Letters, digits, `.`, `_` and `-`, at most 64.',
    }),
    label: Type.Optional(Type.String({ description: 'To be shown.', defaultText: 'the id' })),
    region: defaulted(Type.String({ default: '', description: 'To be shown.' })),
    country: defaulted(orNull(Type.String(), { default: null, description: 'To be shown, such as `DE`.' })),
    gateways: defaulted(
      Type.Array(gatewaySchema, {
        default: [],
        description:
          '`{"label", "publicUrl", "url"}` each, `url` being optional and what the node itself would use. None: the node\'s own gateway.',
      }),
    ),
    dataDir: none(
      "Gives the cluster's content a directory of its own. Without it, it shares the server's. The file `identity` in it says which it is: a start is refused when the directory is not mounted, is another's or a copy. It may be moved, with its configuration. Clusters that name the same place share its blocks.",
    ),
    alsoIn: Type.Optional(
      Type.Array(text(), {
        maxItems: 16,
        description:
          'Further directories that hold content of the cluster, such as one that took uploads after a start with a wrong `dataDir`. Content in them is read and deleted; new content goes to `dataDir`. Each must exist.',
        defaultText: 'none',
      }),
    ),
    absent: Type.Optional(
      Type.Boolean({
        description:
          "Declares that the cluster's directories are away, so that the node starts without them. Records stay as they are, content is 503 `UNAVAILABLE`, uploads are 503, deletes work, and nothing is released. See [clusters](clusters.md).",
        defaultText: '`false`',
      }),
    ),
    node: Type.Optional(
      Type.String({
        pattern: NODE_ID,
        description: "Which of several nodes keeps the cluster's content, by its `node.id`; see [scaling](scaling.md).",
        defaultText: 'the only node',
      }),
    ),
    backend: Type.Optional(
      Type.Union(Object.values(backendSchemas), {
        description:
          "Has another Holdfast, a Kubo or an IPFS Cluster keep the cluster's content; [how](clusters.md). `dataDir` is then where what has still to get there lies, by default `clusters/<id>` in the data directory.",
        defaultText: 'none',
      }),
    ),
  },
  closed,
)
