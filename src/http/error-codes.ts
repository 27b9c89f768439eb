import type { ErrorCode } from '../domain/errors.ts'

/** The status of an exchange whose client went away: it exists in logs, never on the wire. */
export const CLIENT_GONE = 499

/** What an error code is to those who meet it. */
export interface ErrorRow {
  readonly status: number
  readonly meaning: string
  readonly remedy: string
  /** About the node itself: clients are told `INTERNAL_ERROR`, since the message may name paths or a disk's trouble. */
  readonly isInternal?: true
}

/** The one table of error codes. `docs/reference/errors.md` is made from it. */
export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorRow>> = {
  INVALID_API_KEY: {
    status: 401,
    meaning: 'No credential, or one that is wrong, expired or revoked; signing in with a wrong email or password.',
    remedy: 'Send a live key as `Authorization: Bearer <key>` or `X-API-Key: <key>`, or sign in again.',
  },
  missing_scope: {
    status: 403,
    meaning: 'The key is good and lacks the scope that `required` names.',
    remedy: 'Use a key with that scope. A key can give others only scopes that it has.',
  },
  SESSION_REQUIRED: {
    status: 403,
    meaning: 'Only somebody who is signed in may do this; a key may not.',
    remedy: 'Sign in by `POST /auth/login` and send the session.',
  },
  OWNER_REQUIRED: {
    status: 403,
    meaning: 'Only the owner of the node may do this.',
    remedy: 'Use a key of the owner with every scope.',
  },
  account_disabled: {
    status: 403,
    meaning: 'The owner of the node has disabled the account. Its content stays.',
    remedy: 'Ask the owner; they enable it by `holdfast account enable`.',
  },
  IP_NOT_ALLOWED: {
    status: 403,
    meaning: 'The key may not be used from this address.',
    remedy: 'Use it from an address of its list. Behind a proxy the node needs `trustedProxies` to see addresses.',
  },
  RATE_LIMIT: {
    status: 429,
    meaning:
      'Too many requests of the key or the account, malformed ones of the address, or wrong codes and passwords.',
    remedy: 'Wait as many seconds as `Retry-After` says.',
  },
  '2fa_required': {
    status: 400,
    meaning: 'The account has a second factor, and no code came along.',
    remedy: 'Send a code of the authenticator app, or a recovery code.',
  },
  '2fa_invalid': {
    status: 400,
    meaning: 'The code of the second factor is wrong, too old, or was used before.',
    remedy: 'Wait for the next code; look at the clock of the device.',
  },

  TIMELOCK_NOT_ALLOWED: {
    status: 403,
    meaning: 'The plan has no pins that expire.',
    remedy: 'Leave `timelock` out, or have another plan.',
  },
  CLUSTER_NOT_ALLOWED: {
    status: 403,
    meaning: 'There is no such cluster, or the plan does not allow it.',
    remedy: 'Choose one of `GET /users/me/clusters`.',
  },
  QUOTA_EXCEEDED: {
    status: 403,
    meaning: 'The plan has no room for this: storage, records, pins that wait, or keys.',
    remedy: 'Remove something, wait for waiting pins, or have another plan. Usage is at `GET /users/me`.',
  },
  NOT_OFFERED: {
    status: 403,
    meaning: 'The node, or the plan, does not offer this.',
    remedy: 'The message says what its operator would have to turn on.',
  },
  FILE_TOO_LARGE: {
    status: 413,
    meaning: 'A file is larger than `maxFileBytes` of the plan.',
    remedy: 'Send less, or have another plan.',
  },
  DIRECTORY_TOO_LARGE: {
    status: 413,
    meaning: 'A directory or a CAR is larger, or has more files, than the plan allows.',
    remedy: 'Send it in parts, or have another plan.',
  },

  INVALID_CID: {
    status: 400,
    meaning: 'Not a CID, or one with a hash or codec that the node cannot walk.',
    remedy: 'Send the bare CID, without a path or URL. The message says which hash or codec it is.',
  },
  INVALID_PATH: {
    status: 400,
    meaning: 'A path that is empty, absolute, leaves its root, or is there twice; of an import, one that is not found.',
    remedy: 'Send relative paths with `/` between segments; imports lie below an import root.',
  },
  INVALID_TIMELOCK: {
    status: 400,
    meaning: 'Not an instant, one that has passed, or one over a hundred years away.',
    remedy: 'Send an RFC 3339 date-time such as `2030-01-31T12:00:00Z`.',
  },
  VALIDATION: {
    status: 400,
    meaning: 'Something of the request is malformed, missing or of a wrong type.',
    remedy: 'The message names the field.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The body has a type, or an encoding, that the request does not take.',
    remedy: 'Send the type that the message names, without `Content-Encoding`.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path is there and does not answer this method.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  REQUEST_TOO_LARGE: {
    status: 413,
    meaning: 'A JSON body is larger than 1 MiB, or than 16 KiB where no credential is needed.',
    remedy: 'Send less. Content goes in by an upload.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    meaning: 'The range begins behind the end of the file.',
    remedy: 'Ask for a range within the size that `Content-Range` tells.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    meaning: 'The content cannot be had in the format that is asked for.',
    remedy: 'Ask for another; `format=raw` and `format=car` are always there.',
  },
  NOT_IMPLEMENTED: {
    status: 501,
    meaning:
      'The path ends inside a DAG-CBOR or DAG-JSON block, whose parts have no address of their own; or the pinning service ' +
      'API was asked of a node that no other can reach.',
    remedy: 'Ask for the block itself, or go on to a link in it; switch networking on, with an address to listen at.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    meaning: 'Only what is cached was asked for, and the node does not have it.',
    remedy: 'Ask without `Cache-Control: only-if-cached`, or another node.',
  },

  CID_NOT_FOUND: {
    status: 404,
    meaning: 'Nobody who could be asked has this content. Nothing was recorded.',
    remedy: 'Name who has it in `origins`, or send `Prefer: respond-async` to have it looked for again and again.',
  },
  PIN_NOT_FOUND: {
    status: 404,
    meaning: 'The account has no pin of this content.',
    remedy: 'Look at `GET /users/me/uploads`. What has expired is gone.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'There is nothing at this path, or no such thing of the account.',
    remedy: 'Look at the path; the requests are at `/api/v3/docs`.',
  },
  CONFLICT: {
    status: 409,
    meaning: 'Something is in the way: a name that is taken, a state that does not fit, work that runs already.',
    remedy: 'The message says what.',
  },
  GONE: {
    status: 410,
    meaning: 'An older version of the API, or content that the owner of the node has taken down.',
    remedy: 'Use `/api/v3`.',
  },
  LEGAL_REASONS: {
    status: 451,
    meaning: 'The content is not served, for legal reasons.',
    remedy: 'None here.',
  },

  ABORTED: {
    status: CLIENT_GONE,
    meaning: 'Whoever wanted it went away, or its signal ended it. Over HTTP it stands in logs only.',
    remedy: 'Begin again if it is still wanted.',
  },
  BLOCK_DAMAGED: {
    status: 500,
    meaning: 'A block is missing or fails its hash.',
    remedy: 'Upload the content again, which mends it, or run `holdfast verify`; see [backups](backup.md).',
    isInternal: true,
  },
  REDIRECTS_INVALID: {
    status: 500,
    meaning: 'The `_redirects` file of a site cannot be used; the message names the line.',
    remedy: 'Mend the file and upload the site again.',
  },
  DATA_DIR_IN_USE: {
    status: 500,
    meaning: 'Another process has the data directory.',
    remedy: 'Stop it, or use another directory.',
    isInternal: true,
  },
  BACKUP_UNUSABLE: {
    status: 500,
    meaning: 'A backup lacks something, or was made by a newer version.',
    remedy: 'The message names what; see [backups](backup.md).',
    isInternal: true,
  },
  DATA_DIR_UNUSABLE: {
    status: 500,
    meaning: 'The data directory, or something in it, cannot be read, written or created.',
    remedy: 'The message names the path and the reason.',
    isInternal: true,
  },
  DATA_DIR_NEWER: {
    status: 500,
    meaning: 'A newer version has used the data directory.',
    remedy: 'Run that version, or restore a backup from before.',
    isInternal: true,
  },
  CONFIG_INVALID: {
    status: 500,
    meaning: 'The configuration is not valid; the message names the field.',
    remedy: 'See [configuration](configuration.md); `holdfast serve --check-config` checks without starting.',
    isInternal: true,
  },
  UNAVAILABLE: {
    status: 503,
    meaning: 'The node is stopping, busy, short of something, or may not write until it is restarted.',
    remedy: 'Try again after the seconds of `Retry-After`. `GET /health` says if the disk has failed.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    meaning:
      'The disk failed while the change was written, the connection to the catalogue was lost while it committed, or the ' +
      'node that does it was lost before it answered. What was asked for has happened, or has not.',
    remedy:
      'Look whether it is there, or ask for the same again: an identical upload or pin is the same record. After a failed disk ' +
      'the node has to be restarted first.',
  },
  STORAGE_FULL: {
    status: 507,
    meaning: 'The disk has no room for new content. Reading and deleting go on.',
    remedy: 'Delete something, or give the node a larger disk.',
  },
  INTERNAL_ERROR: {
    status: 500,
    meaning: 'Something went wrong inside the node.',
    remedy: 'Look for the `requestId` in the log of the node.',
    isInternal: true,
  },
}
