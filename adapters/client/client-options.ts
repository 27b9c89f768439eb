// Written by tools/option-names.ts from the types of the options: npm run docs

export const CLIENT = 'base fetch gateway headers key note wait'

export const REQUEST = 'body headers idleMs json query signal'

export const FILE_CALLS = {
  'upload.1': 'cluster meta mode mtime mtime.nanoseconds mtime.seconds name onProgress signal timelock visibility',
  'uploadDirectory.1': 'cluster meta name onProgress signal timelock visibility',
  'importDirectory.1': 'cluster meta preserveMode preserveMtime timelock visibility',
  // feature: url-uploads
  'uploadFromUrl.1': 'cluster meta name onProgress signal timelock visibility',
  // end
  'importCar.1': 'allowPartial cluster customName meta name onProgress originalName signal timelock visibility',
}

export const PIN_CALLS = {
  'add.1': 'background cluster meta name originalName origins signal timelock visibility',
  'remove.1': 'cluster',
  'rename.2': 'meta',
  'setVisibility.2': 'cluster',
  'status.1': 'cluster signal',
  'untilPinned.1': 'onProgress signal',
  'page.1': 'after before cid expiring limit match meta name parentCid q signal sort status type visibility',
  'pages.0': 'after before cid expiring limit match meta name parentCid q signal sort status type visibility',
  'all.0': 'after before cid expiring limit match meta name parentCid q signal sort status type visibility',
}

// feature: bulk
export const JOB_CALLS = {
  'deleteMatching.0': 'after cid createdBefore expected expiring match meta name q status type visibility',
  'editRecords.1': 'cluster rename rename.find rename.prefix rename.replace rename.suffix timelock visibility',
  'editMatching.0': 'after cid createdBefore expected expiring match meta name q status type visibility',
  'editMatching.1': 'cluster rename rename.find rename.prefix rename.replace rename.suffix timelock visibility',
  'untilEnded.1': 'onProgress signal',
}
// end

export const CONTENT_CALLS = {
  'file.1': 'range range.end range.start signal',
}

export const ACCOUNT_CALLS = {
  'update.0': 'defaultVisibility email name',
}

export const KEY_CALLS = {
  'create.0': 'expiresInDays ipAllowlist label name scopes totpCode',
  'createUploadToken.0': 'cl expiresInSeconds ipAllowlist label maxBytes maxUses name timelock totpCode',
  'revoke.1': 'totpCode',
}

export const SESSION_CALLS = {
  'signIn.2': 'keep',
  'confirm.2': 'keep',
  'startProvider.0': 'proof',
  'finishProvider.2': 'keep',
  'prove.0': 'answer code key password secret',
  'list.0': 'after limit signal',
}

export const SECOND_FACTOR_CALLS = {
  'disable.0': 'code password',
}

// feature: webhooks
export const WEBHOOK_CALLS = {
  'deliveries.1': 'after limit signal',
}
// end

export const OWNER_CALLS = {
  'accounts.0': 'limit page signal',
  'uploads.2': 'after before cid expiring limit match meta name parentCid q signal sort status type visibility',
  'createAccount.0': 'email name password plan',
  'collect.0': 'endUndo graceSeconds signal',
  'verify.0': 'onProgress signal',
  'takedowns.0': 'after limit signal',
  'takeDown.0': 'cid path reason status',
  'liftTakedown.0': 'at cid path reason status',
  'retireNode.1': 'to',
  'forgetNode.1': 'isReplaced',
  'lostRecords.0': 'account after limit signal',
  // feature: bulk
  'jobs.0': 'after limit signal',
  // end
  // feature: webhooks
  'deliveries.0': 'after failed limit signal',
  // end
  // feature: audit
  'audit.0': 'account action after from limit outcome signal until',
  // end
  // feature: audit
  'exportAudit.1': 'account action from outcome signal until',
  // end
}
