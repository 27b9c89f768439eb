import Type from 'typebox'
import { closed, configText } from './schema-parts.ts'

/** How a node's id, by which clusters and other nodes name it, looks. */
export const NODE_ID = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'

/** Which of several nodes on one database this one is. */
export const nodeSchema = Type.Optional(
  Type.Object(
    {
      id: Type.String({
        pattern: NODE_ID,
        description: 'What `clusters` call this node as `node`: letters, digits, `.`, `_` and `-`, at most 64.',
      }),
      url: configText("Where the other nodes reach this one's API: `http` or `https`, such as `http://10.0.0.1:4100`."),
    },
    {
      ...closed,
      title: 'NodeConfig',
      description:
        'One of several nodes on one `database`: each takes any request, and has another answer what that one keeps; see [scaling](scaling.md). Every cluster then names its `node`.',
      defaultText: 'the only node',
    },
  ),
)
