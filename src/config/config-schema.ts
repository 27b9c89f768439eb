import Type from 'typebox'
import { clusterSchema } from './cluster-schema.ts'
import { nodeSchema } from './node-schema.ts'
import { oidcSchema } from './oidc-schema.ts'
import { planSchema } from './plan-schema.ts'
import { closed, configText, defaulted, group, seconds } from './schema-parts.ts'
import { upkeep } from './upkeep-schema.ts'

// Each field has a description, and either a `default` or a `defaultText` that explains the default. From these texts,
// `npm run docs` generates `src/config/engine-options.ts` and the tables in the documents.

const upTo = (fallback: number, description: string) =>
  defaulted(Type.Integer({ minimum: 1, default: fallback, description }))

const optionalTexts = (description: string, defaultText = 'none') =>
  Type.Optional(Type.Array(configText(), { description, defaultText }))

const pin = group(
  {
    findTimeoutSeconds: seconds(20, 'How long to search the network for a root before the pin counts as not found.'),
    waitSeconds: seconds(20, 'How long a request waits for all blocks before the fetch continues in the background.'),
    stallSeconds: seconds(30, 'An attempt without a new block for this long ends, and is retried later.'),
    attemptSeconds: seconds(21_600, 'Maximum duration of one attempt.'),
    maxBlocks: upTo(10_000_000, 'Maximum number of distinct blocks of one DAG, whether fetched or uploaded as a CAR.'),
    maxDepth: upTo(1_024, 'Maximum number of levels of one DAG, whether fetched or uploaded as a CAR.'),
  },
  { description: 'Limits of fetching content from other peers.' },
)

const gateway = group(
  {
    mode: defaulted(
      Type.Union([Type.Literal('own'), Type.Literal('allow-list'), Type.Literal('open')], {
        default: 'own',
        description:
          '`own`: serves content pinned on this node. `allow-list`: only the CIDs in `gateway.allow`, and all below them. `open`: also content from the network.',
      }),
    ),
    allow: optionalTexts('CIDs for the mode `allow-list`.'),
    denylist: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'File in the compact denylist format, reloaded when it changes.',
        defaultText: 'none',
      }),
    ),
    host: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$',
        description:
          'Host name without port. Each root gets an origin of its own below it, `<cid>.ipfs.<host>`; see [the gateway](gateway.md).',
        defaultText: 'none',
      }),
    ),
    publicUrl: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Public URL of the gateway's own port, such as `https://content.example.org`. Links to content begin with it.",
        defaultText: '`publicUrl`, or else the address and port listened on',
      }),
    ),
    ownOrigin: defaulted(
      Type.Boolean({
        default: false,
        description:
          'True if the origin of `/ipfs/` serves nothing else. If false, pages are sandboxed, see [the gateway](gateway.md#pages-and-the-origin-they-run-in).',
      }),
    ),
    // feature: routing
    routing: defaulted(
      Type.Boolean({
        default: true,
        description:
          "True if the gateway's own port tells which content it serves, at `/routing/v1`; see [the router](routing.md).",
      }),
    ),
    // end
    maxConcurrentRequests: upTo(
      1_024,
      'Concurrent gateway responses. Further requests wait up to 15 seconds, then get 503 with `Retry-After`. Under contention, client addresses share them fairly.',
    ),
    maxDurationSeconds: seconds(3_600, 'Maximum duration of a gateway response.'),
    retrievalTimeoutSeconds: seconds(10, 'How long to search the network for a block, in the mode `open`.'),
  },
  { title: 'GatewayConfig', description: 'Content and limits of `/ipfs/`.' },
)

const network = Type.Optional(
  Type.Object(
    {
      enabled: Type.Optional(
        Type.Boolean({
          description: 'True if the node joins the network.',
          defaultText: '`true` in the server, `false` in an embedded engine',
        }),
      ),
      preset: Type.Optional(
        Type.Union([Type.Literal('public'), Type.Literal('private')], {
          description:
            '`private`: listens on loopback only and knows no peers. `public`: listens on all interfaces and joins the public network, through bootstrap nodes and the DHT. Others run the bootstrap nodes and may stop them, so name `peers` of your own.',
          defaultText: '`private`',
        }),
      ),
      listen: optionalTexts('Multiaddrs to listen on.', 'loopback, any port; `public`: all interfaces, port 4001'),
      announce: optionalTexts('Multiaddrs to announce instead of those listened on.'),
      bootstrap: optionalTexts(
        'Multiaddrs, ending in `/p2p/<id>`, of the peers through which the node joins the network.',
        'none; `public`: the public bootstrap nodes, without guarantee',
      ),
      peers: optionalTexts('Multiaddrs, ending in `/p2p/<id>`, of peers to stay connected to and to ask for content.'),
      gateways: optionalTexts('Base URLs of trustless HTTP gateways to ask for content.'),
      dht: Type.Optional(
        Type.Union([Type.Literal('off'), Type.Literal('client'), Type.Literal('server')], {
          description: 'Role of the node in the distributed hash table.',
          defaultText: '`off`; `public`: `client`',
        }),
      ),
      allowPrivateGateways: Type.Optional(
        Type.Boolean({
          description: 'True if requests may name gateways and peers at private addresses.',
          defaultText: '`false`',
        }),
      ),
    },
    {
      ...closed,
      title: 'NetworkConfig',
      description: 'Peers and addresses of the node. The preset decides omitted fields.',
    },
  ),
)

/** JSON Schema of the configuration. No other file defines its fields. */
export const configSchema = Type.Object(
  {
    publicUrl: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Public URL of the node: `http` or `https`, no query, such as `https://pins.example.org`. Links to content begin with it, unless `gateway.publicUrl` is set.',
        defaultText: 'the address and port listened on',
      }),
    ),
    database: Type.Optional(
      Type.String({
        pattern: '^postgres(ql)?://',
        description:
          'PostgreSQL database, 15 or newer, for accounts and records: `postgres://user:password@host:port/name`. Blocks stay in the data directory. Needs the package `pg`, and in an embedded engine the adapter of `holdfast/postgres`. The first start fixes the choice; see [PostgreSQL](postgresql.md).',
        defaultText: '`holdfast.db` in the data directory',
      }),
    ),
    node: nodeSchema,
    importRoots: optionalTexts(
      'Directories that uploads by server path may read. None may contain the data directory. `[]` turns such uploads off. Every account that may upload by server path can read everything in them.',
      '`["<data dir>/import"]`',
    ),
    backupRoots: defaulted(
      Type.Array(configText(), {
        default: [],
        description: 'Directories that `POST /admin/v1/backup` may write to; see [backups](backup.md).',
      }),
    ),
    backupBytesPerSecond: defaulted(
      Type.Integer({
        minimum: 1_024,
        default: 104_857_600,
        description: 'Bytes per second that a backup reads at most; see [backups](backup.md).',
      }),
    ),
    repairBytesPerSecond: upTo(20_000_000, 'Bytes per second of repaired [copies](scaling.md#copies), at most.'),
    repairContentsPerSecond: upTo(50, 'Repaired [copies](scaling.md#copies) per second, at most.'),
    clusters: Type.Optional(
      Type.Array(clusterSchema, {
        minItems: 1,
        typeText: 'readonly ClusterOptions[]',
        description: 'Clusters of the server, in this order; see below.',
        defaultText: 'the six known clusters',
      }),
    ),
    defaultCluster: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Cluster of requests that name none. Required if the clusters do not include `cl0-global`.',
        defaultText: '`cl0-global`',
      }),
    ),
    plans: Type.Optional(
      Type.Record(Type.String(), planSchema, {
        typeText: 'Readonly<Record<string, PlanOptions>>',
        description: 'Plans by name. They add to the built-in plans, or replace those of the same name; see below.',
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
              'True if anyone may create an account by `POST /auth/signup`. The answer reveals whether an email is taken.',
          }),
        ),
        plan: defaulted(Type.String({ minLength: 1, default: 'free', description: 'Plan of such accounts.' })),
      },
      { description: 'Sign-up by the users themselves.' },
    ),
    oidc: oidcSchema,
    passwordCost: defaulted(
      Type.Integer({
        minimum: 1_024,
        maximum: 1_048_576,
        default: 32_768,
        description:
          "Cost of a password hash: scrypt's N, a power of two. Two logins at a time use 1 KiB of memory times this each. Stored hashes are updated at the next login.",
      }),
    ),
    trustedProxies: defaulted(
      Type.Integer({
        minimum: 0,
        maximum: 10,
        default: 0,
        description:
          'Number of reverse proxies before this node, each adding to `X-Forwarded-For`. With 0 the header is ignored.',
      }),
    ),
    console: Type.Optional(
      Type.Boolean({
        description:
          'True if the server serves [the console](console.md) and links to it from the page at the root. When you embed the engine, you mount it yourself.',
        defaultText: '`true` in the server, `false` in an embedded engine',
      }),
    ),
    tracing: defaulted(
      Type.Boolean({
        default: false,
        description:
          'True if the server makes spans of OpenTelemetry; see [traces](../guides/collect-traces.md). Needs the package `@opentelemetry/api`. When you embed the engine, you set `finished` of its metrics.',
      }),
    ),
    uploads: group(
      {
        // feature: url-uploads
        fromUrls: defaulted(
          Type.Union([Type.Literal('off'), Type.Literal('public'), Type.Literal('any')], {
            default: 'public',
            description:
              'URLs from which the node reads files for accounts. `public`: only public addresses. `any`: also private ones, so accounts can read internal servers. `off`: none.',
          }),
        ),
        // end
        maxConcurrent: upTo(
          256,
          'Concurrent uploads, CARs and server paths included. Further uploads wait up to 15 seconds, then get 503 with `Retry-After`.',
        ),
        maxPerAccount: upTo(64, 'Concurrent uploads of one account.'),
      },
      { description: 'Limits of uploads.' },
    ),
    ...upkeep,
    gateway,
    network,
    // feature: webhooks
    webhooks: group(
      {
        allowPrivate: defaulted(
          Type.Boolean({ default: false, description: 'True if webhooks may call private addresses.' }),
        ),
      },
      { description: 'Webhooks, which send the events of records.' },
    ),
    // end
  },
  {
    ...closed,
    title: 'EngineConfig',
    description: 'The configuration of an engine, the same in a config file and in code. Everything is optional.',
  },
)
