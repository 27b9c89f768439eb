/**
 * Loaders of files that an engine does not need to keep content: a process loads them when something first uses them.
 * Modules are in `module-loaders.ts`.
 */
export const loaders = {
  network: () => import('../network/network-node.ts'),
  peerIdentity: () => import('../network/peer-identity.ts'),
  networkSettings: () => import('../network/network-settings.ts'),
  pinList: () => import('../pins/lists/pin-list.ts'),
  searchRoom: () => import('../pins/lists/search-room.ts'),
  carImporter: () => import('../pins/upload/car-importer.ts'),
  placementRunner: () => import('../pins/placement/placement-runner.ts'),
  announcer: () => import('../pins/announcer.ts'),
  fetchAttempt: () => import('../pins/fetch/fetch-attempt.ts'),
  nodeFetcher: () => import('../pins/fetch/node-fetcher.ts'),
  copyRunner: () => import('../upkeep/copy-runner.ts'),
  sharedCatalogue: () => import('./open-shared-catalogue.ts'),
  checkBackup: () => import('../backup/check.ts'),
  restoreBackup: () => import('../backup/restore.ts'),
  /** The package behind `httpAgent`, which loads it with its first request. */
  httpClient: () => import('undici'),
  errorResponse: () => import('../http/error-response.ts'),
}
