import Type from 'typebox'
import { NODE_ID } from './node-schema.ts'
import { closed, configText, defaulted, optionalText, orNull } from './schema-parts.ts'

const gatewaySchema = Type.Object(
  { label: Type.String(), publicUrl: configText(), url: Type.Optional(configText()) },
  closed,
)

export const clusterSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description: 'Letters, digits, `.`, `_` and `-`, at most 64.',
    }),
    label: Type.Optional(Type.String({ description: 'For display.', defaultText: 'the id' })),
    region: defaulted(Type.String({ default: '', description: 'For display.' })),
    country: defaulted(orNull(Type.String(), { default: null, description: 'For display, such as `DE`.' })),
    gateways: defaulted(
      Type.Array(gatewaySchema, {
        default: [],
        description:
          '`{"label", "publicUrl", "url"}` each. The optional `url` is for requests of the node itself. Empty: the node\'s own gateway.',
      }),
    ),
    dataDir: optionalText(
      "Directory for the cluster's content; by default it shares the server's. The server does not start if the directory is not mounted, is a copy or belongs to another cluster, as its file `identity` shows. You may move it if you change the configuration as well. Clusters that name the same directory share its blocks.",
    ),
    alsoIn: Type.Optional(
      Type.Array(configText(), {
        maxItems: 16,
        description:
          'More directories with content of the cluster, such as uploads made with a wrong `dataDir`. Content in them is read and deleted; new content goes to `dataDir`. Each must exist.',
        defaultText: 'none',
      }),
    ),
    absent: Type.Optional(
      Type.Boolean({
        description:
          "Declares the cluster's directories as unmounted, so that the node starts without them. Records stay as they are, and nothing is released. Content and uploads are 503 `UNAVAILABLE`; deletes work. See [clusters](clusters.md).",
        defaultText: '`false`',
      }),
    ),
    node: Type.Optional(
      Type.String({
        pattern: NODE_ID,
        description: "`node.id` of the node that keeps the cluster's content; see [scaling](scaling.md).",
        defaultText: 'the only node',
      }),
    ),
    nodes: Type.Optional(
      Type.Array(Type.String({ pattern: NODE_ID }), {
        minItems: 1,
        maxItems: 32,
        description: 'Instead of `node`: the nodes that may keep the content. New content arrives on the first one.',
        defaultText: 'only `node`',
      }),
    ),
    copies: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 32,
        description: 'Number of `nodes` that keep each content; see [scaling](scaling.md#copies).',
        defaultText: '1',
      }),
    ),
    repairAfterSeconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 31_536_000,
        description:
          'How long a node of `nodes` is away before others copy what it has. If more than one is away, they wait for `holdfast node away`.',
        defaultText: '1800',
      }),
    ),
    backend: Type.Optional(
      Type.Object(
        { type: configText('Kind of the system.') },
        {
          typeText: 'BackendDefinition',
          description:
            "Keeps the cluster's content on another Holdfast, a Kubo or an IPFS Cluster; see [clusters](clusters.md). Until it is sent, content stays in `dataDir`, by default `clusters/<id>` in the data directory. An embedded engine needs the adapter of the system.",
          defaultText: 'none',
        },
      ),
    ),
  },
  closed,
)
