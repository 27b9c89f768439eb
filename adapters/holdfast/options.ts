// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster that another Holdfast keeps, over its HTTP contract. One of `keyFile` and `keyEnv` is needed. */
export type HoldfastBackendDefinition = {
  /** `holdfast`. */
  type: 'holdfast'
  /** The base of the other node's contract, such as `https://pins.example.org/api/v3`. */
  url: string
  /** The name of the cluster on the other node, which must keep that cluster itself. */
  cluster: string
  /**
   * A file with a key of an account there that is used for nothing else. It needs the scopes `files:read`,
   * `files:write` and `files:delete`. Default: none.
   */
  keyFile?: string
  /**
   * The environment variable that has the key, which itself never stands in the configuration. One of `keyFile` and
   * `keyEnv` is needed. Default: none.
   */
  keyEnv?: string
  /** The base of a trustless gateway by which the content is read. Default: that of `url`'s server. */
  gateway?: string
  /** Bytes of the cluster's content that stay on this disk to be read again. Default: `1073741824` (1 GiB). */
  cacheBytes?: number
  /**
   * Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed
   * `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`. Default: `86400` (a day).
   */
  localGraceSeconds?: number
}
