import { BASE_PATH } from '../../contract/routes.ts'
import type { FeatureModule } from '../feature.ts'
import { openUrlReader } from './url-reader.ts'
import { type UrlServices, urlRoutes } from './url-route.ts'

/** Uploads of files that the node reads at a URL. */
export const urlUploadsModule: FeatureModule<UrlServices> = {
  routes: [{ base: BASE_PATH, before: '/files/pin/*cid', routes: urlRoutes }],
  make: ({ clock, config }) => {
    const { fromUrls } = config.uploads
    const urls = fromUrls === 'off' ? null : openUrlReader({ clock, allowPrivate: fromUrls === 'any' })
    return { services: { urls }, stop: async () => urls?.close() }
  },
}
