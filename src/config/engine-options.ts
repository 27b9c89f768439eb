// Made by `npm run docs` from config-schema.ts, which is the place to change it.
import type { ClusterDefinition } from '../domain/cluster.ts'
import type { PlanOptions } from '../domain/plan.ts'

/**
 * One of several nodes on one `database`: each takes any request, and has another answer what that one keeps; see
 * scaling. Every cluster then names its `node`.
 */
export interface NodeConfig {
  /** What `clusters` call this node as `node`: letters, digits, `.`, `_` and `-`, at most 64. */
  id: string
  /** Where the other nodes reach this one's API: `http` or `https`, such as `http://10.0.0.1:4100`. */
  url: string
}

/** What `/ipfs/` serves, and how much of it at once. */
export interface GatewayConfig {
  /**
   * `own`: the gateway serves what is pinned here. `allow-list`: of that only what is asked for by a CID in
   * `gateway.allow`, and all below it. `open`: what the network has, too; needs the network. Default: `own`.
   */
  mode?: 'own' | 'allow-list' | 'open'
  /** CIDs, for the mode `allow-list`. Default: none. */
  allow?: readonly string[]
  /** A file in the compact denylist format, read again when it changes. Default: none. */
  denylist?: string
  /**
   * A host name, without port, below which every root has an origin of its own, `<cid>.ipfs.<host>`; see the gateway.
   * Default: none.
   */
  host?: string
  /**
   * Where readers reach the gateway's own port, such as `https://content.example.org`. The addresses of content build
   * on it. Default: `publicUrl`; without that the address and port listened on.
   */
  publicUrl?: string
  /**
   * Whether `/ipfs/` is served from an origin that has nothing else. Unless it is, pages are sandboxed, see the
   * gateway. Default: `false`.
   */
  ownOrigin?: boolean
  /**
   * Answers of the gateway under way at once; more wait up to 15 seconds, then are told to come back. Shared by client
   * address while there is too little. Default: `1024`.
   */
  maxConcurrentRequests?: number
  /** How long an answer of the gateway may take. Default: `3600`. */
  maxDurationSeconds?: number
  /** How long the network is asked for a block, in the mode `open`. Default: `10`. */
  retrievalTimeoutSeconds?: number
}

/** How a node meets others. What is left out is decided by the preset. */
export interface NetworkConfig {
  /** Whether the node takes part in the network. Default: `true` in the server, `false` in an embedded engine. */
  enabled?: boolean
  /**
   * `private`: listens on loopback only and knows nobody. `public`: listens on all interfaces, joins the public
   * network, finds others by its DHT. It begins at public bootstrap nodes of others, which may be switched off: name
   * `peers` of your own. Default: `private`.
   */
  preset?: 'public' | 'private'
  /** Multiaddrs to listen on. Default: loopback, any port; `public`: all interfaces, port 4001. */
  listen?: readonly string[]
  /** Multiaddrs to tell others instead of those listened on. Default: none. */
  announce?: readonly string[]
  /**
   * Multiaddrs, ending in `/p2p/<id>`, of peers by which the rest of the network is found, in the place of the default.
   * Default: none; `public`: the public bootstrap nodes, which nobody guarantees.
   */
  bootstrap?: readonly string[]
  /** Multiaddrs, ending in `/p2p/<id>`, of peers to stay connected to and to ask for content. Default: none. */
  peers?: readonly string[]
  /** Base URLs of trustless HTTP gateways to ask for content. Default: none. */
  gateways?: readonly string[]
  /** Which part the node takes in the distributed hash table. Default: `off`; `public`: `client`. */
  dht?: 'off' | 'client' | 'server'
  /** Whether gateways and peers that a request names may be at private addresses. Default: `false`. */
  allowPrivateGateways?: boolean
}

/** The configuration of an engine, the same in a config file and in code. Everything is optional. */
export interface EngineConfig {
  /**
   * Where clients reach the node: `http` or `https`, no query, such as `https://pins.example.org`. Gateway addresses
   * build on it, unless `gateway.publicUrl` is set. Default: the address and port listened on.
   */
  publicUrl?: string
  /**
   * A PostgreSQL database, 15 or newer, `postgres://user:password@host:port/name`, in which accounts and records are
   * kept; blocks stay in the data directory. Needs the package `pg`, and in an embedded engine the adapter of
   * `holdfast/postgres`. Chosen with the first start; see PostgreSQL. Default: `holdfast.db` in the data directory.
   */
  database?: string
  /**
   * One of several nodes on one `database`: each takes any request, and has another answer what that one keeps; see
   * scaling. Every cluster then names its `node`.
   */
  node?: NodeConfig
  /**
   * Directories that uploads by server path may read below. None of them may contain the data directory. `[]` turns
   * such uploads off. Whoever may upload by server path can read all that is in them. Default: `["<data dir>/import"]`.
   */
  importRoots?: readonly string[]
  /**
   * Directories below which `POST /admin/v1/backup` may write; see backups. With none it is not offered. Default: none.
   */
  backupRoots?: readonly string[]
  /** How fast a backup reads blocks at most; see backups. Default: `104857600`. */
  backupBytesPerSecond?: number
  /** Given ones replace them all, in this order; see below. Default: the six known clusters. */
  clusters?: readonly ClusterDefinition[]
  /**
   * Where requests go that name no cluster. Needed if the clusters do not include `cl0-global`. Default: `cl0-global`.
   */
  defaultCluster?: string
  /** By name; added to the built-in plans, or replacing those of the same name; see below. Default: none. */
  plans?: Readonly<Record<string, PlanOptions>>
  /** Bounds of pinning content that others hold. */
  pin?: {
    /** How long the network is asked for a root before the answer is that nobody has it. Default: `20`. */
    findTimeoutSeconds?: number
    /** How long a request waits for the rest before it goes on in the background. Default: `20`. */
    waitSeconds?: number
    /** Without a block for this long an attempt is given up, to be tried again later. Default: `30`. */
    stallSeconds?: number
    /** How long one attempt may take. Default: `21600`. */
    attemptSeconds?: number
    /** Distinct blocks of one DAG, of CARs too. Default: `10000000`. */
    maxBlocks?: number
    /** Levels of one DAG, of CARs too. Default: `1024`. */
    maxDepth?: number
  }
  /** Whether people may make accounts for themselves. */
  signup?: {
    /**
     * Whether anybody may make an account by `POST /auth/signup`. Who does learns whether an email is taken. Default:
     * `false`.
     */
    enabled?: boolean
    /** The plan of such accounts. Default: `free`. */
    plan?: string
  }
  /**
   * What a password costs to compute or to guess: scrypt's N, a power of two. Memory is 1 KiB times it, for two logins
   * at a time. Stored passwords follow at the next login. Default: `32768`.
   */
  passwordCost?: number
  /**
   * How many reverse proxies stand between the clients and this node, each adding to `X-Forwarded-For`. With 0 the
   * header is not looked at. Default: `0`.
   */
  trustedProxies?: number
  /**
   * Whether the server serves the console, and the page at the root links to it. Who embeds an engine mounts it or not.
   * Default: `true` in the server, `false` in an embedded engine.
   */
  console?: boolean
  /** Uploads under way at once. */
  uploads?: {
    /**
     * Uploads under way at once, CARs and server paths included; more wait up to 15 seconds, then are told to come
     * back. Default: `256`.
     */
    maxConcurrent?: number
    /** The same for one account. Default: `64`. */
    maxPerAccount?: number
  }
  /** When content that nothing needs goes. */
  gc?: {
    /** How long content that nothing needs any more is kept. Default: `60`. */
    graceSeconds?: number
    /** How often the collector looks for such content. Default: `30`. */
    intervalSeconds?: number
  }
  /** Blocks are read and checked by themselves, slowly; what is damaged is put aside and fetched again. */
  verify?: {
    /**
     * Days between two rounds in which every block is read and checked; `0` for none. What is damaged is moved to
     * `quarantine/` in the data directory, beside `blocks/`, and comes again from another cluster or, where there is a
     * network, from there: its pins are `pinning` until then. Default: `30`.
     */
    everyDays?: number
    /** How fast such a round reads at most; small blocks count 4,096 bytes. Default: `2097152`. */
    bytesPerSecond?: number
  }
  /** Clusters that are kept elsewhere are looked into from time to time. */
  reconcile?: {
    /**
     * Hours from one check of a cluster that is kept elsewhere to the next; half of its `localGraceSeconds` where that
     * is shorter. `0` turns checks off, and is refused beside such a cluster. What is missing there is sent again if
     * this node has it, what nothing here needs is let go of, unless that is more than one in a hundred. Default: `12`.
     */
    everyHours?: number
    /** DAGs of each such cluster that a look reads back whole. Default: `4`. */
    sample?: number
  }
  /** Room on the disks. */
  disk?: {
    /**
     * Bytes that new content leaves free on each disk, so that there is room to delete with. Default: the lesser of
     * 67108864 (64 MiB) and 5 % of the file system.
     */
    reserveBytes?: number
  }
  /** What `/ipfs/` serves, and how much of it at once. */
  gateway?: GatewayConfig
  /** How a node meets others. What is left out is decided by the preset. */
  network?: NetworkConfig
  /** Who is told of what becomes of records. */
  webhooks?: {
    /** Whether webhooks may lead to private addresses, too. Default: `false`. */
    allowPrivate?: boolean
  }
}
