// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster on another Holdfast, over its HTTP API. Set either `keyFile` or `keyEnv`. */
export type HoldfastBackendDefinition = {
  /** `holdfast`. */
  type: 'holdfast'
  /** The URL of the other node's API, such as `https://pins.example.org/api/v3`. */
  url: string
  /** The name of the cluster on the other node, which must keep that cluster itself. */
  cluster: string
  /**
   * A file with a key of an account on the other node. The key needs the scopes `files:read`, `files:write` and
   * `files:delete`. Use the account for nothing else. Default: none.
   */
  keyFile?: string
  /** The environment variable with the key. Set either `keyFile` or `keyEnv`. Default: none. */
  keyEnv?: string
  /** The URL of a trustless gateway that serves the content. Default: that of `url`'s server. */
  gateway?: string
  /** Bytes of the cluster's content that stay on this disk to be read again. Default: `1073741824` (1 GiB). */
  cacheBytes?: number
  /**
   * Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed
   * `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`. Default: `86400` (a day).
   */
  localGraceSeconds?: number
}
