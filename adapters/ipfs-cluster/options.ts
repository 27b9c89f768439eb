// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster that an IPFS Cluster keeps, over the REST API of one of its peers. */
export type IpfsClusterBackendDefinition = {
  /** `ipfs-cluster`. */
  type: 'ipfs-cluster'
  /** The base of the REST API of one of its peers, such as `http://10.0.0.5:9094`. */
  api: string
  /** A file with what the API asks for: `basic:<user>:<password>` or `bearer:<token>`. Default: none. */
  authFile?: string
  /** Environment variable with it, instead of `authFile`. Default: none. */
  authEnv?: string
  /**
   * Bases of trustless gateways by which the content is read, such as those of its peers, in the order in which they
   * are asked. Default: none: all of it stays here, too.
   */
  gateways?: readonly string[]
  /**
   * How many of its peers have to have all of a content before it is `pinned`, each in an IPFS of its own; `-1` for
   * all. Default: as the cluster is configured.
   */
  replicationMin?: -1 | number
  /** How many of its peers are to have it; `-1` for all. Default: `replicationMin`. */
  replicationMax?: -1 | number
  /** Bytes of the cluster's content that stay on this disk to be read again. Default: `1073741824` (1 GiB). */
  cacheBytes?: number
  /**
   * Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed
   * `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`. Default: `86400` (a day).
   */
  localGraceSeconds?: number
}
