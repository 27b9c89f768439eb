import Type from 'typebox'
import { NODE_ID } from './node-schema.ts'
import { closed, configText, defaulted, optionalText, orNull } from './schema-parts.ts'

const gatewaySchema = Type.Object(
  { label: Type.String(), publicUrl: configText(), url: Type.Optional(configText()) },
  closed,
)

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
    dataDir: optionalText(
      "Gives the cluster's content a directory of its own. Without it, it shares the server's. The file `identity` in it says which it is: a start is refused when the directory is not mounted, is another's or a copy. It may be moved, with its configuration. Clusters that name the same place share its blocks.",
    ),
    alsoIn: Type.Optional(
      Type.Array(configText(), {
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
      Type.Object(
        { type: configText('The kind of system.') },
        {
          typeText: 'BackendDefinition',
          description:
            "Has another Holdfast, a Kubo or an IPFS Cluster keep the cluster's content; [how](clusters.md). `dataDir` is then the directory of content that is not there yet, by default `clusters/<id>` in the data directory. An embedded engine needs the adapter of the system.",
          defaultText: 'none',
        },
      ),
    ),
  },
  closed,
)
