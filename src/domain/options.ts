import type { ClusterDefinition } from './cluster.ts'
import type { PlanOptions } from './plan.ts'

/** How a node meets others. What is left out is decided by the preset. */
export interface NetworkConfig {
  /** Off unless asked for; the standalone server asks for it. */
  enabled?: boolean
  /**
   * `private`, the default: listens on loopback only and knows nobody. `public`: listens on all interfaces, joins the
   * public network through its bootstrap nodes, finds others by its DHT.
   */
  preset?: 'public' | 'private'
  /** Multiaddrs to listen on. */
  listen?: readonly string[]
  /** Multiaddrs to tell others instead of those listened on. */
  announce?: readonly string[]
  /** Multiaddrs of peers by which to find the rest of the network. */
  bootstrap?: readonly string[]
  /** Multiaddrs, ending in `/p2p/<id>`, of peers to stay connected to and to ask for content. */
  peers?: readonly string[]
  /** Base URLs of trustless HTTP gateways to ask for content. */
  gateways?: readonly string[]
  dht?: 'off' | 'client' | 'server'
  /** Whether gateways and peers that a request names may be at private addresses. Default false. */
  allowPrivateGateways?: boolean
}

/** What `/ipfs/` serves, and how much of it at once. */
export interface GatewayConfig {
  /**
   * `own`, the default: what is pinned here. `allow-list`: of that, what is asked for by a CID in `allow`, and all
   * below it. `open`: whatever the network has, too; needs the network.
   */
  mode?: 'own' | 'allow-list' | 'open'
  /** The CIDs of the mode `allow-list`. */
  allow?: readonly string[]
  /** A file in the compact denylist format; read again when it changes. */
  denylist?: string
  /** Answers under way at once, beyond which clients are told to come back. Default 1,024. */
  maxConcurrentRequests?: number
  /** How long an answer may take until it is broken off. Default 3,600. */
  maxDurationSeconds?: number
  /**
   * A host name, without port, below which every root has an origin of its own: `<cid>.ipfs.<host>`. Requests for
   * `/ipfs/<cid>` on that name are sent there. Default: none.
   */
  host?: string
  /**
   * Whether `/ipfs/` is mounted on an origin that serves nothing else. Unless it is, pages are sent with a sandbox: they
   * can neither read nor keep anything there. Hosts below `host` are always their own. Default false.
   */
  ownOrigin?: boolean
  /** In the mode `open`, how long the network is asked for a block. Default 10. */
  retrievalTimeoutSeconds?: number
}

/** The configuration of an engine, the same in a config file and in code. Everything is optional. */
export interface EngineConfig {
  /** Where clients reach this node, without a trailing slash, e.g. `https://pins.example.org`. */
  publicUrl?: string
  /** Directories below which server-path uploads may read. Given ones replace `<dataDir>/import`. */
  importRoots?: readonly string[]
  /** Directories below which backups go that the owner asks for over HTTP. Default: none, so none can be asked for. */
  backupRoots?: readonly string[]
  /** Given clusters replace the six known ones. */
  clusters?: readonly ClusterDefinition[]
  defaultCluster?: string
  /** By name; added to the built-in plans, or replacing those of the same name. */
  plans?: Readonly<Record<string, PlanOptions>>
  /** Bounds of pinning content that others hold. */
  pin?: {
    /** How long the network is asked for a root before the answer is that nobody has it. Default 20. */
    findTimeoutSeconds?: number
    /** How long a request waits for the rest before it goes on in the background. Default 20. */
    waitSeconds?: number
    /** Without a block for this long an attempt is given up, to be tried again later. Default 30. */
    stallSeconds?: number
    /** How long one attempt may take. Default 21,600, six hours. */
    attemptSeconds?: number
    /** Distinct blocks of one DAG. Default 10,000,000. */
    maxBlocks?: number
    /** Levels of one DAG. Default 1,024. */
    maxDepth?: number
  }
  /** Whether people may make accounts for themselves, and on which plan. Default: no; `free`. */
  signup?: {
    enabled?: boolean
    plan?: string
  }
  /**
   * What a password costs to compute, or to guess: scrypt's N, a power of two. Memory is 1,024 bytes times it. Default
   * 32,768. Passwords that were stored at another cost follow when they are next used.
   */
  passwordCost?: number
  /**
   * How many reverse proxies stand between the clients and this node, each adding to `X-Forwarded-For`. Default 0: the
   * header is not looked at.
   */
  trustedProxies?: number
  /** Uploads under way at once, CARs and server paths included. More of them wait for a while, then are told to return. */
  uploads?: {
    /** Of all accounts. Default 256. */
    maxConcurrent?: number
    /** Of one account. Default 64. */
    maxPerAccount?: number
  }
  gc?: {
    /** How long a freed block is kept before its bytes go. Default 60. */
    graceSeconds?: number
    /** How often the collector looks for work by itself. Default 30. */
    intervalSeconds?: number
  }
  /** Blocks are read and checked by themselves, slowly; what is damaged is put aside and fetched again. */
  verify?: {
    /** From the end of one round to the beginning of the next; 0 for none. Default 30. */
    everyDays?: number
    /** What is read at most. Default 2,097,152, 2 MiB. */
    bytesPerSecond?: number
  }
  disk?: {
    /**
     * Bytes of each disk that new content leaves free, so that there is room to delete with. Default: the lesser of
     * 67,108,864 (64 MiB) and 5 % of the file system.
     */
    reserveBytes?: number
  }
  gateway?: GatewayConfig
  network?: NetworkConfig
}
