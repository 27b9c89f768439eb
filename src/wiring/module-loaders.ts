/** Loaders of modules, and of calls that open a data directory. A process loads these files when something uses them. */
export const moduleLoaders = {
  takedowns: () => import('./takedowns-module.ts'),
  signIn: () => import('./sign-in-module.ts'),
  gateway: () => import('./gateway-module.ts'),
  sharedReading: () => import('./shared-reading-module.ts'),
  http: () => import('./http.ts'),
  upkeep: () => import('./upkeep-work-module.ts'),
  backup: () => import('./backup-module.ts'),
  nodeWork: () => import('./node-work-module.ts'),
  moveCatalogue: () => import('./move-catalogue.ts'),
  replaceDataKey: () => import('./replace-data-key.ts'),
  checkStart: () => import('./check-start.ts'),
  connectAccounts: () => import('./connect-accounts.ts'),
  reading: () => import('./reading.ts'),
}
