import Type from 'typebox'
import { clusterSchema } from './cluster-schema.ts'
import { nodeSchema } from './node-schema.ts'
import { planSchema } from './plan-schema.ts'
import { closed, configText, defaulted, group, seconds } from './schema-parts.ts'
import { upkeep } from './upkeep-schema.ts'

// Of every field: what it means, in the words of `docs/reference/configuration.md`, and its `default`, or in `defaultText` what
// holds without it. `src/config/engine-options.ts` and the tables of the documents are made from this by `npm run docs`.

const upTo = (fallback: number, description: string) =>
  defaulted(Type.Integer({ minimum: 1, default: fallback, description }))

const optionalTexts = (description: string, defaultText = 'none') =>
  Type.Optional(Type.Array(configText(), { description, defaultText }))

const pin = group(
  {
    findTimeoutSeconds: seconds(
      20,
      'How long the network is asked for a root before the answer is that nobody has it.',
    ),
    waitSeconds: seconds(20, 'How long a request waits for the rest before it goes on in the background.'),
    stallSeconds: seconds(30, 'Without a block for this long an attempt is given up, to be tried again later.'),
    attemptSeconds: seconds(21_600, 'How long one attempt may take.'),
    maxBlocks: upTo(10_000_000, 'Distinct blocks of one DAG, of CARs too.'),
    maxDepth: upTo(1_024, 'Levels of one DAG, of CARs too.'),
  },
  { description: 'Bounds of pinning content that others hold.' },
)

const gateway = group(
  {
    mode: defaulted(
      Type.Union([Type.Literal('own'), Type.Literal('allow-list'), Type.Literal('open')], {
        default: 'own',
        description:
          '`own`: the gateway serves what is pinned here. `allow-list`: of that only what is asked for by a CID in `gateway.allow`, and all below it. `open`: what the network has, too; needs the network.',
      }),
    ),
    allow: optionalTexts('CIDs, for the mode `allow-list`.'),
    denylist: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'A file in the compact denylist format, read again when it changes.',
        defaultText: 'none',
      }),
    ),
    host: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$',
        description:
          'A host name, without port, below which every root has an origin of its own, `<cid>.ipfs.<host>`; see [the gateway](gateway.md).',
        defaultText: 'none',
      }),
    ),
    publicUrl: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Where readers reach the gateway's own port, such as `https://content.example.org`. The addresses of content build on it.",
        defaultText: '`publicUrl`; without that the address and port listened on',
      }),
    ),
    ownOrigin: defaulted(
      Type.Boolean({
        default: false,
        description:
          'Whether `/ipfs/` is served from an origin that has nothing else. Unless it is, pages are sandboxed, see [the gateway](gateway.md#pages-and-the-origin-they-run-in).',
      }),
    ),
    maxConcurrentRequests: upTo(
      1_024,
      'Answers of the gateway under way at once; more wait up to 15 seconds, then are told to come back. Shared by client address while there is too little.',
    ),
    maxDurationSeconds: seconds(3_600, 'How long an answer of the gateway may take.'),
    retrievalTimeoutSeconds: seconds(10, 'How long the network is asked for a block, in the mode `open`.'),
  },
  { title: 'GatewayConfig', description: 'What `/ipfs/` serves, and how much of it at once.' },
)

const network = Type.Optional(
  Type.Object(
    {
      enabled: Type.Optional(
        Type.Boolean({
          description: 'Whether the node takes part in the network.',
          defaultText: '`true` in the server, `false` in an embedded engine',
        }),
      ),
      preset: Type.Optional(
        Type.Union([Type.Literal('public'), Type.Literal('private')], {
          description:
            '`private`: listens on loopback only and knows nobody. `public`: listens on all interfaces, joins the public network, finds others by its DHT. It begins at public bootstrap nodes of others, which may be switched off: name `peers` of your own.',
          defaultText: '`private`',
        }),
      ),
      listen: optionalTexts('Multiaddrs to listen on.', 'loopback, any port; `public`: all interfaces, port 4001'),
      announce: optionalTexts('Multiaddrs to tell others instead of those listened on.'),
      bootstrap: optionalTexts(
        'Multiaddrs, ending in `/p2p/<id>`, of peers by which the rest of the network is found, in the place of the default.',
        'none; `public`: the public bootstrap nodes, which nobody guarantees',
      ),
      peers: optionalTexts('Multiaddrs, ending in `/p2p/<id>`, of peers to stay connected to and to ask for content.'),
      gateways: optionalTexts('Base URLs of trustless HTTP gateways to ask for content.'),
      dht: Type.Optional(
        Type.Union([Type.Literal('off'), Type.Literal('client'), Type.Literal('server')], {
          description: 'Which part the node takes in the distributed hash table.',
          defaultText: '`off`; `public`: `client`',
        }),
      ),
      allowPrivateGateways: Type.Optional(
        Type.Boolean({
          description: 'Whether gateways and peers that a request names may be at private addresses.',
          defaultText: '`false`',
        }),
      ),
    },
    {
      ...closed,
      title: 'NetworkConfig',
      description: 'How a node meets others. What is left out is decided by the preset.',
    },
  ),
)

/** The configuration, which is also JSON Schema: the one place that says what there is. */
export const configSchema = Type.Object(
  {
    publicUrl: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Where clients reach the node: `http` or `https`, no query, such as `https://pins.example.org`. Gateway addresses build on it, unless `gateway.publicUrl` is set.',
        defaultText: 'the address and port listened on',
      }),
    ),
    database: Type.Optional(
      Type.String({
        pattern: '^postgres(ql)?://',
        description:
          'A PostgreSQL database, 15 or newer, `postgres://user:password@host:port/name`, in which accounts and records are kept; blocks stay in the data directory. Needs the package `pg`, and in an embedded engine the adapter of `holdfast/postgres`. Chosen with the first start; see [PostgreSQL](postgresql.md).',
        defaultText: '`holdfast.db` in the data directory',
      }),
    ),
    node: nodeSchema,
    importRoots: optionalTexts(
      'Directories that uploads by server path may read below. None of them may contain the data directory. `[]` turns such uploads off. Whoever may upload by server path can read all that is in them.',
      '`["<data dir>/import"]`',
    ),
    backupRoots: defaulted(
      Type.Array(configText(), {
        default: [],
        description:
          'Directories below which `POST /admin/v1/backup` may write; see [backups](backup.md). With none it is not offered.',
      }),
    ),
    backupBytesPerSecond: defaulted(
      Type.Integer({
        minimum: 1_024,
        default: 104_857_600,
        description: 'How fast a backup reads blocks at most; see [backups](backup.md).',
      }),
    ),
    clusters: Type.Optional(
      Type.Array(clusterSchema, {
        minItems: 1,
        typeText: 'readonly ClusterDefinition[]',
        description: 'Given ones replace them all, in this order; see below.',
        defaultText: 'the six known clusters',
      }),
    ),
    defaultCluster: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Where requests go that name no cluster. Needed if the clusters do not include `cl0-global`.',
        defaultText: '`cl0-global`',
      }),
    ),
    plans: Type.Optional(
      Type.Record(Type.String(), planSchema, {
        typeText: 'Readonly<Record<string, PlanOptions>>',
        description: 'By name; added to the built-in plans, or replacing those of the same name; see below.',
        defaultText: 'none',
      }),
    ),
    pin,
    signup: group(
      {
        enabled: defaulted(
          Type.Boolean({
            default: false,
            description:
              'Whether anybody may make an account by `POST /auth/signup`. Who does learns whether an email is taken.',
          }),
        ),
        plan: defaulted(Type.String({ minLength: 1, default: 'free', description: 'The plan of such accounts.' })),
      },
      { description: 'Whether people may make accounts for themselves.' },
    ),
    passwordCost: defaulted(
      Type.Integer({
        minimum: 1_024,
        maximum: 1_048_576,
        default: 32_768,
        description:
          "What a password costs to compute or to guess: scrypt's N, a power of two. Memory is 1 KiB times it, for two logins at a time. Stored passwords follow at the next login.",
      }),
    ),
    trustedProxies: defaulted(
      Type.Integer({
        minimum: 0,
        maximum: 10,
        default: 0,
        description:
          'How many reverse proxies stand between the clients and this node, each adding to `X-Forwarded-For`. With 0 the header is not looked at.',
      }),
    ),
    console: Type.Optional(
      Type.Boolean({
        description:
          'Whether the server serves [the console](console.md), and the page at the root links to it. Who embeds an engine mounts it or not.',
        defaultText: '`true` in the server, `false` in an embedded engine',
      }),
    ),
    uploads: group(
      {
        maxConcurrent: upTo(
          256,
          'Uploads under way at once, CARs and server paths included; more wait up to 15 seconds, then are told to come back.',
        ),
        maxPerAccount: upTo(64, 'The same for one account.'),
      },
      { description: 'Uploads under way at once.' },
    ),
    ...upkeep,
    gateway,
    network,
    webhooks: group(
      {
        allowPrivate: defaulted(
          Type.Boolean({ default: false, description: 'Whether webhooks may lead to private addresses, too.' }),
        ),
      },
      { description: 'Who is told of what becomes of records.' },
    ),
  },
  {
    ...closed,
    title: 'EngineConfig',
    description: 'The configuration of an engine, the same in a config file and in code. Everything is optional.',
  },
)
