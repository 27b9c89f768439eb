import { type CommandSpec, type FlagTable, OWNER_FLAGS } from './command-spec.ts'

const ONE_NODE = { usage: 'ID', what: 'the id of a node', min: 1, max: 1 } as const
const NO_WAIT = { 'no-wait': { about: 'do not wait' } } as const satisfies FlagTable

export const FLEET_COMMANDS = {
  'node list': {
    about: 'List the nodes of a fleet',
    text: `Lists the nodes of a fleet, also those that have ended. MEMBERSHIP is active, retiring, retired, forgetting or
forgotten. LOCK is "running" while a process runs as the node.`,
    flags: OWNER_FLAGS,
  },
  'node retire': {
    about: 'Move the content of a node to another node',
    text: `Moves the content of a node to another node, and waits until the node is empty. All pins stay pinned and readable. Both
nodes must run. First set "node" of its clusters to the other node, and restart all nodes. The command names the
clusters of the records that move. If it is interrupted, the move continues; repeat the command to wait again.`,
    examples: ['holdfast node retire c --to b'],
    words: ONE_NODE,
    flags: {
      to: { value: 'OTHER', about: 'the id of the node that takes the content', required: true },
      ...NO_WAIT,
      ...OWNER_FLAGS,
    },
  },
  'node forget': {
    about: 'Give up a node whose disk is gone',
    text: `Gives up a node whose disk is gone, and waits until other nodes have taken over its records. Content that they, a cluster
on another system or the network have is fetched again. Content that nobody has becomes failed.
Refused while a process runs as the node. First set "node" of its clusters to other nodes, and restart all nodes.`,
    examples: ['holdfast node forget c'],
    words: ONE_NODE,
    flags: {
      replaced: { about: 'a new, empty data directory will run under the id, and take over the clusters' },
      ...NO_WAIT,
      ...OWNER_FLAGS,
    },
  },
  'node away': {
    about: 'Copy again what nodes have that stay away',
    text: `Has other nodes copy what nodes have that stay away. If one node of a cluster with several copies is away, that begins
by itself after "repairAfterSeconds". If more than one is away, it waits for this command. Refused for a node that is up.`,
    examples: ['holdfast node away b c'],
    words: { usage: 'ID...', what: 'the ids of nodes', min: 1, max: 32 },
    flags: OWNER_FLAGS,
  },
  'node lost': {
    about: 'List the records whose content was lost with a node',
    text: 'Lists the records whose content was lost with a node, by account, until their content is complete again.',
    flags: { account: { value: 'ID', about: 'only those of an account' }, ...OWNER_FLAGS },
  },
  'visibility enable': {
    about: 'Let records be private after an upgrade',
    text: `Lets records be private in a PostgreSQL database of an earlier version. Run it once, after every node has this version.
Earlier versions refuse the database from then on. A new database, and a node without one, need no such step.`,
    examples: ['holdfast visibility enable'],
    flags: OWNER_FLAGS,
  },
} as const satisfies Record<string, CommandSpec>
