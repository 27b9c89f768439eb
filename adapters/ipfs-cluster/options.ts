// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster on an IPFS Cluster, over the REST API of one of its peers. */
export type IpfsClusterBackendDefinition = {
  /** `ipfs-cluster`. */
  type: 'ipfs-cluster'
  /** The URL of the REST API of one peer, such as `http://10.0.0.5:9094`. */
  api: string
  /** A file with the credentials for the API: `basic:<user>:<password>` or `bearer:<token>`. Default: none. */
  authFile?: string
  /** Environment variable with the credentials, instead of `authFile`. Default: none. */
  authEnv?: string
  /**
   * URLs of trustless gateways that serve the content, such as those of the peers. They are tried in this order.
   * Default: none: all content also stays on this disk.
   */
  gateways?: readonly string[]
  /**
   * How many peers, each with its own IPFS node, must have all blocks before a pin is `pinned`; `-1` for all. Default:
   * the setting of the cluster.
   */
  replicationMin?: -1 | number
  /** How many peers should have the content; `-1` for all. Default: `replicationMin`. */
  replicationMax?: -1 | number
  /** Bytes of the cluster's content that stay on this disk to be read again. Default: `1073741824` (1 GiB). */
  cacheBytes?: number
  /**
   * Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed
   * `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`. Default: `86400` (a day).
   */
  localGraceSeconds?: number
}
