/**
 * Loaders of everything that an engine does not need to keep content: a process loads these files when something first
 * uses them. No other file of `src` has an `import()`.
 */
export const loaders = {
  network: () => import('../network/network-node.ts'),
  peerIdentity: () => import('../network/peer-identity.ts'),
  networkSettings: () => import('../network/network-settings.ts'),
  takedowns: () => import('./takedowns-module.ts'),
  signIn: () => import('./sign-in-module.ts'),
  gateway: () => import('./gateway-module.ts'),
  sharedReading: () => import('./shared-reading-module.ts'),
  http: () => import('./http.ts'),
  pinList: () => import('../pins/lists/pin-list.ts'),
  searchRoom: () => import('../pins/lists/search-room.ts'),
  carImporter: () => import('../pins/upload/car-importer.ts'),
  placementRunner: () => import('../pins/placement/placement-runner.ts'),
  announcer: () => import('../pins/announcer.ts'),
  fetchAttempt: () => import('../pins/fetch/fetch-attempt.ts'),
  nodeFetcher: () => import('../pins/fetch/node-fetcher.ts'),
  upkeep: () => import('./upkeep-work-module.ts'),
  backup: () => import('./backup-module.ts'),
  nodeWork: () => import('./node-work-module.ts'),
  copyRunner: () => import('../upkeep/copy-runner.ts'),
  checkBackup: () => import('../backup/check.ts'),
  restoreBackup: () => import('../backup/restore.ts'),
  moveCatalogue: () => import('./move-catalogue.ts'),
  replaceDataKey: () => import('./replace-data-key.ts'),
  checkStart: () => import('./check-start.ts'),
  sharedCatalogue: () => import('./open-shared-catalogue.ts'),
  connectAccounts: () => import('./connect-accounts.ts'),
  reading: () => import('./reading.ts'),
  /** The package behind `httpAgent`, which loads it with its first request. */
  httpClient: () => import('undici'),
  errorResponse: () => import('../http/error-response.ts'),
}
