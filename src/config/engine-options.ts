// Made by `npm run docs` from config-schema.ts, which is the place to change it.
import type { ClusterOptions } from '../domain/cluster.ts'
import type { PlanOptions } from '../domain/plan.ts'

/**
 * Makes this one of several nodes on one `database`. Each takes any request, and forwards it if another node has the
 * content; see scaling. Every cluster then names its `node`.
 */
export interface NodeConfig {
  /** Id of this node, which `clusters` name as `node`: letters, digits, `.`, `_` and `-`, at most 64. */
  id: string
  /** URL of this node's API for the other nodes: `http` or `https`, such as `http://10.0.0.1:4100`. */
  url: string
  /** Ids of nodes that `nodes` of a cluster may name although they have never joined. Default: none. */
  expected?: readonly string[]
  /**
   * True if the data directory of a forgotten node may join as a new node, and offer its content; see scaling. Same as
   * the flag `--as-new`. Default: `false`.
   */
  asNew?: boolean
}

/**
 * Provider of OpenID Connect with which users sign in to the console; see the guide. Needs the package `openid-client`,
 * and in an embedded engine the adapter of `holdfast/oidc`.
 */
export interface OidcConfig {
  /** URL of the provider, exactly as in its tokens: `https`, or `http` on a loopback address. */
  issuer: string
  /** Id of the client that you registered at the provider. */
  clientId: string
  /** File with the secret of the client. Default: none, as for a public client. */
  clientSecretFile?: string
  /**
   * The environment variable with the secret. Set at most one of `clientSecretFile` and `clientSecretEnv`. Default:
   * none.
   */
  clientSecretEnv?: string
  /** URL of the console, exactly as registered at the provider. Default: `publicUrl` with `/console/`. */
  redirectUri?: string
  /** Name of the provider on the button. Default: the host of the issuer. */
  label?: string
  /**
   * Scopes that the sign-in asks for. With `offline_access`, plans by groups outlast the sign-in. Default: `openid
   * profile email`.
   */
  scope?: string
  /** Claim of the ID token that lists the groups of the user. Default: `groups`. */
  groupsClaim?: string
  /** Plans by group, `{"group", "plan"}` each. The first entry whose group the user has decides. Default: none. */
  groups?: ReadonlyArray<{ group: string; plan: string }>
  /** Plan of users without such a group. Default: `free`. */
  plan?: string
}

/** Content and limits of `/ipfs/`. */
export interface GatewayConfig {
  /**
   * `own`: serves content pinned on this node. `allow-list`: only the CIDs in `gateway.allow`, and all below them.
   * `open`: also content from the network. Default: `own`.
   */
  mode?: 'own' | 'allow-list' | 'open'
  /** CIDs for the mode `allow-list`. Default: none. */
  allow?: readonly string[]
  /** File in the compact denylist format, reloaded when it changes. Default: none. */
  denylist?: string
  /**
   * Host name without port. Each root gets an origin of its own below it, `<cid>.ipfs.<host>`; see the gateway.
   * Default: none.
   */
  host?: string
  /**
   * Public URL of the gateway's own port, such as `https://content.example.org`. Links to content begin with it.
   * Default: `publicUrl`, or else the address and port listened on.
   */
  publicUrl?: string
  /**
   * True if the origin of `/ipfs/` serves nothing else. If false, pages are sandboxed, see the gateway. Default:
   * `false`.
   */
  ownOrigin?: boolean
  /**
   * True if the gateway's own port tells which content it serves, at `/routing/v1`; see the router. Default: `true`.
   */
  routing?: boolean
  /**
   * Concurrent gateway responses. Further requests wait up to 15 seconds, then get 503 with `Retry-After`. Under
   * contention, client addresses share them fairly. Default: `1024`.
   */
  maxConcurrentRequests?: number
  /** Maximum duration of a gateway response. Default: `3600`. */
  maxDurationSeconds?: number
  /** How long to search the network for a block, in the mode `open`. Default: `10`. */
  retrievalTimeoutSeconds?: number
}

/** Peers and addresses of the node. The preset decides omitted fields. */
export interface NetworkConfig {
  /** True if the node joins the network. Default: `true` in the server, `false` in an embedded engine. */
  enabled?: boolean
  /**
   * `private`: listens on loopback only and knows no peers. `public`: listens on all interfaces and joins the public
   * network, through bootstrap nodes and the DHT. Others run the bootstrap nodes and may stop them, so name `peers` of
   * your own. Default: `private`.
   */
  preset?: 'public' | 'private'
  /** Multiaddrs to listen on. Default: loopback, any port; `public`: all interfaces, port 4001. */
  listen?: readonly string[]
  /** Multiaddrs to announce instead of those listened on. Default: none. */
  announce?: readonly string[]
  /**
   * Multiaddrs, ending in `/p2p/<id>`, of the peers through which the node joins the network. Default: none; `public`:
   * the public bootstrap nodes, without guarantee.
   */
  bootstrap?: readonly string[]
  /** Multiaddrs, ending in `/p2p/<id>`, of peers to stay connected to and to ask for content. Default: none. */
  peers?: readonly string[]
  /** Base URLs of trustless HTTP gateways to ask for content. Default: none. */
  gateways?: readonly string[]
  /** Role of the node in the distributed hash table. Default: `off`; `public`: `client`. */
  dht?: 'off' | 'client' | 'server'
  /** True if requests may name gateways and peers at private addresses. Default: `false`. */
  allowPrivateGateways?: boolean
}

/** The configuration of an engine, the same in a config file and in code. Everything is optional. */
export interface EngineConfig {
  /**
   * Public URL of the node: `http` or `https`, no query, such as `https://pins.example.org`. Links to content begin
   * with it, unless `gateway.publicUrl` is set. Default: the address and port listened on.
   */
  publicUrl?: string
  /**
   * PostgreSQL database, 15 or newer, for accounts and records: `postgres://user:password@host:port/name`. Blocks stay
   * in the data directory. Needs the package `pg`, and in an embedded engine the adapter of `holdfast/postgres`. The
   * first start fixes the choice; see PostgreSQL. Default: `holdfast.db` in the data directory.
   */
  database?: string
  /**
   * Makes this one of several nodes on one `database`. Each takes any request, and forwards it if another node has the
   * content; see scaling. Every cluster then names its `node`.
   */
  node?: NodeConfig
  /**
   * Directories that uploads by server path may read. None may contain the data directory. `[]` turns such uploads off.
   * Every account that may upload by server path can read everything in them. Default: `["<data dir>/import"]`.
   */
  importRoots?: readonly string[]
  /** Directories that `POST /admin/v1/backup` may write to; see backups. Default: none. */
  backupRoots?: readonly string[]
  /** Bytes per second that a backup reads at most; see backups. Default: `104857600`. */
  backupBytesPerSecond?: number
  /** Bytes per second of repaired copies, at most. Default: `20000000`. */
  repairBytesPerSecond?: number
  /** Repaired copies per second, at most. Default: `50`. */
  repairContentsPerSecond?: number
  /** Clusters of the server, in this order; see below. Default: the six known clusters. */
  clusters?: readonly ClusterOptions[]
  /**
   * Cluster of requests that name none. Required if the clusters do not include `cl0-global`. Default: `cl0-global`.
   */
  defaultCluster?: string
  /** Plans by name. They add to the built-in plans, or replace those of the same name; see below. Default: none. */
  plans?: Readonly<Record<string, PlanOptions>>
  /** Limits of fetching content from other peers. */
  pin?: {
    /** How long to search the network for a root before the pin counts as not found. Default: `20`. */
    findTimeoutSeconds?: number
    /** How long a request waits for all blocks before the fetch continues in the background. Default: `20`. */
    waitSeconds?: number
    /** An attempt without a new block for this long ends, and is retried later. Default: `30`. */
    stallSeconds?: number
    /** Maximum duration of one attempt. Default: `21600`. */
    attemptSeconds?: number
    /** Maximum number of distinct blocks of one DAG, whether fetched or uploaded as a CAR. Default: `10000000`. */
    maxBlocks?: number
    /** Maximum number of levels of one DAG, whether fetched or uploaded as a CAR. Default: `1024`. */
    maxDepth?: number
  }
  /** Sign-up by the users themselves. */
  signup?: {
    /**
     * True if anyone may create an account by `POST /auth/signup`. The answer reveals whether an email is taken.
     * Default: `false`.
     */
    enabled?: boolean
    /** Plan of such accounts. Default: `free`. */
    plan?: string
  }
  /**
   * Provider of OpenID Connect with which users sign in to the console; see the guide. Needs the package
   * `openid-client`, and in an embedded engine the adapter of `holdfast/oidc`.
   */
  oidc?: OidcConfig
  /**
   * Cost of a password hash: scrypt's N, a power of two. Two logins at a time use 1 KiB of memory times this each.
   * Stored hashes are updated at the next login. Default: `32768`.
   */
  passwordCost?: number
  /**
   * Number of reverse proxies before this node, each adding to `X-Forwarded-For`. With 0 the header is ignored.
   * Default: `0`.
   */
  trustedProxies?: number
  /**
   * True if the server serves the console and links to it from the page at the root. When you embed the engine, you
   * mount it yourself. Default: `true` in the server, `false` in an embedded engine.
   */
  console?: boolean
  /**
   * True if the server makes spans of OpenTelemetry; see traces. Needs the package `@opentelemetry/api`. When you embed
   * the engine, you set `finished` of its metrics. Default: `false`.
   */
  tracing?: boolean
  /** Limits of uploads. */
  uploads?: {
    /**
     * URLs from which the node reads files for accounts. `public`: only public addresses. `any`: also private ones, so
     * accounts can read internal servers. `off`: none. Default: `public`.
     */
    fromUrls?: 'off' | 'public' | 'any'
    /**
     * Concurrent uploads, CARs and server paths included. Further uploads wait up to 15 seconds, then get 503 with
     * `Retry-After`. Default: `256`.
     */
    maxConcurrent?: number
    /** Concurrent uploads of one account. Default: `64`. */
    maxPerAccount?: number
  }
  /** Garbage collection of unused content. */
  gc?: {
    /** How long unused content is kept before garbage collection. Default: `60`. */
    graceSeconds?: number
    /** Interval of garbage collection. Default: `30`. */
    intervalSeconds?: number
  }
  /** Jobs that change many records. */
  bulk?: {
    /**
     * How long a job that deletes records can be undone. Until then the content stays on the disk, but counts against
     * no quota, except during a backup. An account keeps at most its quota so, or its newest job: older undo periods
     * end early. `0` for no undo. Default: `600`.
     */
    undoSeconds?: number
  }
  /** The audit log. */
  audit?: {
    /** Days that the audit log keeps an entry. Default: `365`. */
    keepDays?: number
    /**
     * Entries that the audit log keeps of owners. It keeps as many of other accounts, and as many of strangers.
     * Default: `100000`.
     */
    maxEntries?: number
  }
  /** Verification of all blocks in the background. Damaged blocks are quarantined and fetched again. */
  verify?: {
    /**
     * Days between two verifications of all blocks; `0` for none. Damaged blocks move to `quarantine/` in the data
     * directory, and the node fetches them again from another cluster or the network. Until then their pins are
     * `pinning`. Default: `30`.
     */
    everyDays?: number
    /**
     * Bytes per second that a verification reads at most; each block counts 4,096 more. Without it, the rate follows
     * the content, and reading takes at most a quarter of the time. Default: a rate for a verification within half of
     * `everyDays`, at least 2097152.
     */
    bytesPerSecond?: number
  }
  /** Regular checks of remote clusters. */
  reconcile?: {
    /**
     * Hours between checks of a remote cluster, or half of its `localGraceSeconds` if that is shorter. `0` turns checks
     * off, without remote clusters only. The check sends missing content again if this node has it. It unpins unused
     * content, unless that is more than one in a hundred. Default: `12`.
     */
    everyHours?: number
    /** DAGs of each remote cluster that a check reads back whole. Default: `4`. */
    sample?: number
  }
  /** Disk space. */
  disk?: {
    /**
     * Bytes to keep free on each disk, because deletes need room as well. Default: the lesser of 67108864 (64 MiB) and
     * 5 % of the file system.
     */
    reserveBytes?: number
  }
  /** Content and limits of `/ipfs/`. */
  gateway?: GatewayConfig
  /** Peers and addresses of the node. The preset decides omitted fields. */
  network?: NetworkConfig
  /** Webhooks, which send the events of records. */
  webhooks?: {
    /** True if webhooks may call private addresses. Default: `false`. */
    allowPrivate?: boolean
  }
}
