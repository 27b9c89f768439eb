// Written by tools/option-names.ts from the types of the options: npm run docs

export const PIN_CALLS = {
  'upload.1':
    'account adopts cluster customName expectedBytes fromNode late meta mode mtime mtime.nanoseconds mtime.seconds name onProgress originalName signal timelock token visibility',
  'uploadDirectory.1':
    'account adopts cluster customName expectedBytes fromNode late meta name onProgress originalName signal timelock token visibility',
  'importDirectory.1':
    'account adopts cluster customName expectedBytes fromNode late meta name onProgress originalName preserveMode preserveMtime signal timelock token visibility',
  'importCar.1':
    'account adopts allowPartial cluster customName expectedBytes fromNode late meta name onProgress originalName signal timelock token visibility',
  'pin.0':
    'account adopts cid cluster customName fromNode isAnew meta name onProgress originalName origins respondAsync signal timelock visibility',
  'pin.1':
    'account adopts cluster customName fromNode isAnew meta name onProgress originalName origins respondAsync signal timelock visibility',
  'remove.0': 'account cid cluster',
  'remove.1': 'account cluster',
  'get.0': 'account uploadId',
  'discard.0': 'account uploadId',
  'list.0':
    'account after before cid cids hasExpiration limit match meta name page parentCid q sort status type visibility',
  'all.0': 'account after before cid cids hasExpiration match meta name parentCid q sort status type visibility',
  'status.0': 'account cid cluster peers',
  'status.1': 'account cluster peers',
  'dag.0': 'account cid cluster',
  'dag.1': 'account cluster',
  'rename.0': 'account meta name uploadId',
  'setVisibility.0': 'account uploadId visibility',
  'checkTarget.1': 'adopts cluster fromNode timelock visibility',
}

// feature: bulk
export const JOB_CALLS = {
  'start.0':
    'account action cluster filter filter.after filter.cid filter.cids filter.createdBefore filter.expected filter.hasExpiration filter.match filter.meta filter.name filter.q filter.status filter.type filter.visibility ids rename rename.find rename.prefix rename.replace rename.suffix timelock visibility',
  'get.1': 'account',
  'list.0': 'account',
  'undo.1': 'account',
  'untilEnded.1': 'account onProgress signal',
}
// end

export const CONTENT_CALLS = {
  'read.0': 'account cid path range range.end range.start signal',
  'stat.0': 'account cid path signal',
  'entries.0': 'account cid path signal',
  'exportCar.0': 'account cid path signal',
}

export const CLUSTER_CALLS = {
  'list.0': 'account',
}

export const ACCOUNT_CALLS = {
  'create.0': 'email name password plan role',
  'setProfile.1': 'email name',
  'setPassword.2': 'field keep',
  'setIdentity.1': 'issuer subject',
}

export const KEY_CALLS = {
  'create.1':
    'cluster expiresInDays expiresInSeconds ipAllowlist label maxBytes maxUses name permissions scopes timelock',
  'generate.1':
    'cluster expiresInDays expiresInSeconds ipAllowlist label maxBytes maxUses name permissions scopes timelock',
  'list.1': 'isUpload',
}

export const SESSION_CALLS = {
  'list.1': 'after limit',
}

export const SECOND_FACTOR_CALLS = {}

export const TAKEDOWN_CALLS = {
  'page.0': 'after limit',
  'add.0': 'cid path reason status',
  'remove.0': 'cid path',
}

export const NODE_CALLS = {
  'retire.1': 'to',
  'forget.1': 'isReplaced',
  'lost.0': 'account after limit',
}

export const EVENT_CALLS = {
  'on.2': 'signal',
  'once.1': 'signal',
}

export const UPKEEP_CALLS = {
  'collect.0': 'endUndo graceSeconds',
  'verify.0': 'onProgress signal',
  'backup.1': 'bytesPerSecond force keys onProgress signal',
  'reconcile.0': 'dryRun force onProgress onlyClusters signal',
}

export const EVENTS = 'block:damaged block:healed collected pin:created pin:removed pin:status undo:ended'

export const ACCOUNTS = 'adapters clock config dataDir'

export const CONNECT = 'adapters catalogue clock config dataDir'

export const MOVE_CATALOGUE = 'catalogue dataDir onProgress to'

export const REPLACE_DATA_KEY = 'catalogue database forgetSecrets'

export const CHECK_BACKUP = 'backup bytesPerSecond keys onProgress repairFrom signal'

export const RESTORE_BACKUP = 'backup dataDir keys onProgress partial sameNode signal'
