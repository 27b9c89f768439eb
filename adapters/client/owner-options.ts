/** Options of a new account. */
export interface NewAccountOptions {
  email: string
  plan: string
  name?: string | undefined
  /** Without a password the account can only use keys. */
  password?: string | undefined
}

/** Options of a verification. */
export interface VerifyOptions {
  onProgress?: ((progress: { blocks: number; bytes: number; damaged: number }) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Options of a garbage collection. `endUndo` first ends all undo periods, whose content otherwise stays. */
export interface CollectOptions {
  graceSeconds?: number
  endUndo?: boolean
  signal?: AbortSignal
}

/** Options of a page of accounts, from page 1. `limit` is 100 by default, and at most 1,000. */
export interface AccountPageOptions {
  page?: number
  limit?: number
  signal?: AbortSignal
}
