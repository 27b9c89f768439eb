// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster on a Kubo node, over its RPC API. */
export type KuboBackendDefinition = {
  /** `kubo`. */
  type: 'kubo'
  /** The URL of its RPC API, such as `http://10.0.0.5:5001`. */
  api: string
  /**
   * A file with one of the credentials in the `API.Authorizations` of Kubo, in the same form: `bearer:<token>` or
   * `basic:<user>:<password>`. Default: none.
   */
  authFile?: string
  /** Environment variable with the credentials, instead of `authFile`. Default: none. */
  authEnv?: string
  /**
   * URLs of trustless gateways that serve the content. They are tried in this order. Default: none: the RPC API serves
   * it.
   */
  gateways?: readonly string[]
  /**
   * Accepts a Kubo that does not sync its writes. A power cut of its machine may lose pinned content. Default: `false`.
   */
  acceptUnsyncedBackend?: boolean
  /** Bytes of the cluster's content that stay on this disk to be read again. Default: `1073741824` (1 GiB). */
  cacheBytes?: number
  /**
   * Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed
   * `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`. Default: `86400` (a day).
   */
  localGraceSeconds?: number
}
