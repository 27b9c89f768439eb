// Made by `npm run docs` from definition.ts, which is the place to change it.
/** A cluster that a Kubo keeps, over its RPC. */
export type KuboBackendDefinition = {
  /** `kubo`. */
  type: 'kubo'
  /** The address of its RPC, such as `http://10.0.0.5:5001`. */
  api: string
  /**
   * A file with what its `API.Authorizations` asks for, in the same form: `bearer:<token>` or
   * `basic:<user>:<password>`. Default: none.
   */
  authFile?: string
  /** Environment variable with it, instead of `authFile`. Default: none. */
  authEnv?: string
  /**
   * Bases of trustless gateways by which the content is read, in the order in which they are asked. Default: none: by
   * the RPC.
   */
  gateways?: readonly string[]
  /**
   * Takes content for pinned although the Kubo syncs nothing of it, so that it may be lost there with the power.
   * Default: `false`.
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
