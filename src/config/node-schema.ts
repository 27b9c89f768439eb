import Type from 'typebox'
import { closed, configText } from './schema-parts.ts'

export const NODE_ID = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'

export const nodeSchema = Type.Optional(
  Type.Object(
    {
      id: Type.String({
        pattern: NODE_ID,
        description: 'Id of this node, which `clusters` name as `node`: letters, digits, `.`, `_` and `-`, at most 64.',
      }),
      url: configText("URL of this node's API for the other nodes: `http` or `https`, such as `http://10.0.0.1:4100`."),
      expected: Type.Optional(
        Type.Array(Type.String({ pattern: NODE_ID }), {
          maxItems: 32,
          description: 'Ids of nodes that `nodes` of a cluster may name although they have never joined.',
          defaultText: 'none',
        }),
      ),
      asNew: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'True if the data directory of a forgotten node may join as a new node, and offer its content; see [scaling](scaling.md#a-forgotten-node-that-returns). Same as the flag `--as-new`.',
        }),
      ),
    },
    {
      ...closed,
      title: 'NodeConfig',
      description:
        'Makes this one of several nodes on one `database`. Each takes any request, and forwards it if another node has the content; see [scaling](scaling.md). Every cluster then names its `node`.',
      defaultText: 'the only node',
    },
  ),
)
