import type { ErrorCode } from '../domain/errors.ts'

/** Occurs only in logs: the client disconnected before the response. */
export const CLIENT_GONE = 499

export interface ErrorRow {
  readonly status: number
  readonly meaning: string
  readonly remedy: string
  /** True if the message may contain file paths. Clients receive `INTERNAL_ERROR` instead. */
  readonly isInternal?: true
}

/** `docs/reference/errors.md` is generated from this table. */
export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorRow>> = {
  INVALID_API_KEY: {
    status: 401,
    meaning: 'The credential is missing, wrong, expired or revoked, or the email or password of a sign-in is wrong.',
    remedy: 'Send a live key as `Authorization: Bearer <key>` or `X-API-Key: <key>`, or sign in again.',
  },
  missing_scope: {
    status: 403,
    meaning: 'The key is valid but lacks the scope in `required`.',
    remedy: 'Use a key with that scope. A key can create keys only with its own scopes.',
  },
  SESSION_REQUIRED: {
    status: 403,
    meaning: 'The request needs a session. A key is not enough.',
    remedy: 'Sign in with `POST /auth/login` and send the session token.',
  },
  OWNER_REQUIRED: {
    status: 403,
    meaning: 'Only the owner of the node may do this.',
    remedy: 'Use a key of the owner with every scope.',
  },
  account_disabled: {
    status: 403,
    meaning: 'The owner of the node has disabled the account. Its content stays.',
    remedy: 'Ask the owner to enable it with `holdfast account enable`.',
  },
  IP_NOT_ALLOWED: {
    status: 403,
    meaning: 'The key may not be used from this address.',
    remedy:
      'Use it from an address in its list. Behind a proxy, the node needs `trustedProxies` to see client addresses.',
  },
  proof_required: {
    status: 403,
    meaning: 'The sign-in that the console keeps was not confirmed in the last 15 minutes.',
    remedy:
      'Confirm it with `POST /auth/proof`, by what `proof` names: `key`, `password` or `provider`. Then repeat the request.',
  },
  RATE_LIMIT: {
    status: 429,
    meaning:
      'Too many requests by the key or account, malformed requests from the address, or wrong codes and passwords. On ' +
      "the gateway, every account of the content has sent its plan's `maxEgressBytes` this month.",
    remedy: 'Wait for the seconds in `Retry-After`.',
  },
  '2fa_required': {
    status: 400,
    meaning: 'The account has a second factor, and the request has no code.',
    remedy: 'Send a code from the authenticator app, or a recovery code.',
  },
  '2fa_invalid': {
    status: 400,
    meaning: 'The code of the second factor is wrong, expired or already used.',
    remedy: "Wait for the next code. Check the device's clock.",
  },

  TIMELOCK_NOT_ALLOWED: {
    status: 403,
    meaning: 'The plan does not allow pins that expire.',
    remedy: 'Remove `timelock` or change the plan.',
  },
  CLUSTER_NOT_ALLOWED: {
    status: 403,
    meaning: 'The cluster does not exist, or the plan does not allow it.',
    remedy: 'Choose one of `GET /users/me/clusters`.',
  },
  QUOTA_EXCEEDED: {
    status: 403,
    meaning: 'The plan has reached its limit of storage, records, waiting pins or keys.',
    remedy:
      'Delete content, wait for pending pins, or change the plan. `GET /users/me` shows the usage. While a backup or a set-back of the database stops deletion, deleted content counts, too: wait for its end.',
  },
  NOT_OFFERED: {
    status: 403,
    meaning: 'The node, or the plan, does not offer this.',
    remedy: 'The message names the setting that the operator must enable.',
  },
  FILE_TOO_LARGE: {
    status: 413,
    meaning: "A file is larger than the plan's `maxFileBytes`.",
    remedy: 'Send a smaller file or change the plan.',
  },
  DIRECTORY_TOO_LARGE: {
    status: 413,
    meaning: "A directory or CAR is larger or has more files than the plan or the node's memory allows.",
    remedy: 'Send it in parts or change the plan.',
  },

  INVALID_CID: {
    status: 400,
    meaning: 'The value is not a CID, or its hash or codec is not supported.',
    remedy: 'Send the CID alone, without a path or URL. The message names the unsupported hash or codec.',
  },
  INVALID_PATH: {
    status: 400,
    meaning: 'The path is empty, absolute, outside its root or duplicate. For an import, it does not exist.',
    remedy: 'Send relative paths with `/` between segments. Import paths must be below an import root.',
  },
  INVALID_TIMELOCK: {
    status: 400,
    meaning: 'The timelock is not a date-time, is in the past, or is more than a hundred years ahead.',
    remedy: 'Send an RFC 3339 date-time such as `2030-01-31T12:00:00Z`.',
  },
  VALIDATION: {
    status: 400,
    meaning: 'A field of the request is malformed, missing or of the wrong type.',
    remedy: 'The message names the field.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The route does not accept the type or encoding of the body.',
    remedy: 'Send the type in the message, without `Content-Encoding`.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path exists but does not support this method.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  REQUEST_TOO_LARGE: {
    status: 413,
    meaning: 'A JSON body is larger than 1 MiB, or than 16 KiB on a route without a credential.',
    remedy: 'Send a smaller body. Use an upload for content.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    meaning: 'The range starts after the end of the file.',
    remedy: 'Request a range within the size in `Content-Range`.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    meaning: 'The content is not available in the requested format.',
    remedy: 'Request another format. `format=raw` and `format=car` are always available.',
  },
  NOT_IMPLEMENTED: {
    status: 501,
    meaning: [
      'The path ends inside a DAG-CBOR or DAG-JSON block, whose parts have no CID.',
      'For the pinning service API: no other node can reach this node.', // feature: psa
    ].join(' '),
    remedy: [
      'Request the block, or a link in it.',
      'For the pinning service API: enable networking with a listen address.', // feature: psa
    ].join(' '),
  },
  PRECONDITION_FAILED: {
    status: 412,
    meaning: 'The request accepts only cached content, and the node does not have it.',
    remedy: 'Remove `Cache-Control: only-if-cached`, or ask another node.',
  },

  CID_NOT_FOUND: {
    status: 404,
    meaning: 'No provider has this content. The request created no record.',
    remedy: 'Name a provider in `origins`, or send `Prefer: respond-async` so that the node keeps searching.',
  },
  PIN_NOT_FOUND: {
    status: 404,
    meaning: 'The account has no pin of this content.',
    remedy: 'List the pins with `GET /users/me/uploads`. Expired pins are deleted.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'The path does not exist, or the account has no such object.',
    remedy: 'Check the path. `/api/v3/docs` lists all routes.',
  },
  CONFLICT: {
    status: 409,
    meaning: 'The request conflicts with the current state: a name in use, a wrong state, or work in progress.',
    remedy: 'The message says what.',
  },
  GONE: {
    status: 410,
    meaning: 'The path belongs to an older API version, or the owner of the node has taken the content down.',
    remedy: 'Use `/api/v3`.',
  },
  LEGAL_REASONS: {
    status: 451,
    meaning: 'The content is not served, for legal reasons.',
    remedy: 'This node will not serve it.',
  },

  ABORTED: {
    status: CLIENT_GONE,
    meaning: 'The caller disconnected or aborted. Over HTTP, only the log has this code.',
    remedy: 'Repeat the request if you still need it.',
  },
  BLOCK_DAMAGED: {
    status: 500,
    meaning: 'A block is missing or fails its hash.',
    remedy: 'Upload the content again to repair it, or run `holdfast verify`; see [backups](backup.md).',
    isInternal: true,
  },
  REDIRECTS_INVALID: {
    status: 500,
    meaning: 'The `_redirects` file of a site is invalid. The message names the line.',
    remedy: 'Correct the file and upload the site again.',
  },
  DATA_DIR_IN_USE: {
    status: 500,
    meaning: 'Another process uses the data directory.',
    remedy: 'Stop it, or use another directory.',
    isInternal: true,
  },
  BACKUP_UNUSABLE: {
    status: 500,
    meaning: 'A backup is incomplete, or a newer version created it.',
    remedy: 'The message names the problem; see [backups](backup.md).',
    isInternal: true,
  },
  DATA_DIR_UNUSABLE: {
    status: 500,
    meaning: 'The data directory, or a file in it, cannot be read, written or created.',
    remedy: 'The message names the path and the reason.',
    isInternal: true,
  },
  DATA_DIR_NEWER: {
    status: 500,
    meaning: 'A newer version has used the data directory.',
    remedy: 'Run that version, or restore an older backup.',
    isInternal: true,
  },
  CONFIG_INVALID: {
    status: 500,
    meaning: 'The configuration is invalid. The message names the field.',
    remedy: 'See [configuration](configuration.md); `holdfast serve --check-config` checks without starting.',
    isInternal: true,
  },
  UNAVAILABLE: {
    status: 503,
    meaning: 'The node is stopping, busy or out of a resource, or must restart before it can write.',
    remedy: 'Retry after the seconds in `Retry-After`. `GET /health` shows a failed disk.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    meaning:
      'The disk failed during the write, the catalogue connection failed during the commit, or the responsible node ' +
      'failed before its answer. The change may or may not have happened.',
    remedy:
      'Check whether the change happened, or repeat the request: an identical upload or pin gets the same record. After a ' +
      'disk failure, restart the node first.',
  },
  STORAGE_FULL: {
    status: 507,
    meaning: 'The disk has no space for new content. Reads and deletions still work.',
    remedy: 'Delete content, or give the node a larger disk.',
  },
  INTERNAL_ERROR: {
    status: 500,
    meaning: 'An internal error of the node.',
    remedy: "Search the node's log for the `requestId`.",
    isInternal: true,
  },
}
