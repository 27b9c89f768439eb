import type { Route } from '../http/route.ts'
import { AccountView } from './account-view.ts'
import { AuthRoutes } from './auth.ts'
import { SecondFactorRoutes } from './auth-second-factor.ts'
import { CarRoutes } from './car.ts'
import { ClusterRoutes } from './clusters.ts'
import { DocsRoutes } from './docs.ts'
import { FileRoutes } from './files.ts'
import { FrontPage } from './front-page.ts'
import { MetaRoutes } from './meta.ts'
import { NotOffered } from './not-offered.ts'
import { PinRoutes } from './pins.ts'
import { PlanRoutes } from './plans.ts'
import { ProfileRoutes } from './profile.ts'
import type { ContractServices } from './services.ts'
import { SessionRoutes } from './sessions.ts'
import { StatusRoutes } from './status.ts'
import { TokenRoutes } from './tokens.ts'
import { UploadRoutes } from './uploads.ts'

/** Where the contract's version 3 lives. */
export const BASE_PATH = '/api/v3'

/** The contract as a table: who may call what, and which handler answers. */
export function createRoutes(services: ContractServices): Route[] {
  const files = new FileRoutes(services.pins, services.uploadSlots)
  const cars = new CarRoutes(services.pins, services.uploadSlots)
  const pins = new PinRoutes(services.pins)
  const status = new StatusRoutes(services.pins)
  const uploads = new UploadRoutes(services.pins)
  const clusters = new ClusterRoutes(services.clusters)
  const view = new AccountView(services.pins, services.clusters, services.plans, services.secondFactor)
  const profile = new ProfileRoutes(services.accounts, services.passwords, services.scopes, view)
  const auth = new AuthRoutes(services.logins, services.sessions, services.signUp, view)
  const secondFactor = new SecondFactorRoutes(services.secondFactor, services.passwords)
  const sessions = new SessionRoutes(services.sessionLists)
  const tokens = new TokenRoutes(services.keys)
  const plans = new PlanRoutes(services.plans, services.pins)
  const absent = new NotOffered()
  const docs = new DocsRoutes(() => base, services.version)
  const front = new FrontPage()
  const meta = new MetaRoutes(services.version, services.peers, services.health)

  const base: Route[] = [
    { method: 'GET', path: '', access: 'public', handler: meta.about },
    { method: 'GET', path: '/health', access: 'public', handler: meta.health },
    { method: 'GET', path: '/openapi.json', access: 'public', handler: docs.document },
    { method: 'GET', path: '/docs', access: 'public', handler: docs.page },

    { method: 'POST', path: '/files', access: 'files:write', handler: files.upload },
    { method: 'POST', path: '/files/directory', access: 'files:write', handler: files.importDirectory },
    { method: 'POST', path: '/files/directory-dag', access: 'files:write', handler: files.uploadDirectory },
    { method: 'POST', path: '/files/car', access: 'files:write', handler: cars.import },
    { method: 'POST', path: '/files/pin/*cid', access: 'files:write', handler: pins.pin },
    { method: 'PUT', path: '/files/rename/:uploadId', access: 'files:write', handler: status.rename },
    { method: 'DELETE', path: '/files/remove/*cid', access: 'files:delete', handler: pins.remove },

    { method: 'GET', path: '/status/allocations/:cid', access: 'files:read', handler: status.allocations },
    { method: 'GET', path: '/status/:cid', access: 'files:read', handler: status.status },
    { method: 'GET', path: '/allocations/:cid', access: 'files:read', handler: status.allocations },
    { method: 'GET', path: '/peers', access: 'public', handler: meta.peers },

    { method: 'GET', path: '/users/me', access: 'authenticated', handler: profile.show },
    { method: 'PUT', path: '/users/me', access: 'authenticated', handler: profile.update },
    { method: 'PUT', path: '/users/me/password', access: 'session', handler: profile.changePassword },
    { method: 'GET', path: '/users/me/uploads', access: 'files:read', handler: uploads.list },
    { method: 'GET', path: '/users/me/uploads/dag/:cid', access: 'files:read', handler: status.dag },
    { method: 'DELETE', path: '/users/me/uploads/:cid', access: 'files:delete', handler: pins.remove },
    { method: 'GET', path: '/users/me/clusters', access: 'cluster:read', handler: clusters.list },

    { method: 'POST', path: '/auth/signup', access: 'public', handler: auth.signUp },
    { method: 'POST', path: '/auth/login', access: 'public', handler: auth.login },
    { method: 'POST', path: '/auth/2fa/verify-login', access: 'public', handler: auth.verifyLogin },
    { method: 'POST', path: '/auth/logout', access: 'authenticated', handler: auth.logout },
    { method: 'GET', path: '/auth/sessions', access: 'session', handler: sessions.list },
    { method: 'DELETE', path: '/auth/sessions', access: 'session', handler: sessions.endOthers },
    { method: 'DELETE', path: '/auth/sessions/:id', access: 'session', handler: sessions.end },
    { method: 'POST', path: '/auth/2fa/setup', access: 'session', handler: secondFactor.setup },
    { method: 'POST', path: '/auth/2fa/enable', access: 'session', handler: secondFactor.enable },
    { method: 'POST', path: '/auth/2fa/disable', access: 'session', handler: secondFactor.disable },

    { method: 'POST', path: '/tokens/generate', access: 'authenticated', handler: tokens.generate },
    { method: 'GET', path: '/tokens/list', access: 'authenticated', handler: tokens.list },
    { method: 'DELETE', path: '/tokens/revoke/:name', access: 'authenticated', handler: tokens.revoke },
    { method: 'POST', path: '/tokens/revoke', access: 'authenticated', handler: tokens.revokeByBody },

    { method: 'GET', path: '/plans', access: 'public', handler: plans.list },
    { method: 'GET', path: '/plans/my-plan', access: 'authenticated', handler: plans.own },
    { method: 'PUT', path: '/plans/change', access: 'authenticated', handler: absent.changePlan },
    { method: 'GET', path: '/users/me/plans', access: 'authenticated', handler: plans.ofUser },
    { method: 'GET', path: '/users/me/preferences', access: 'authenticated', handler: absent.preferences },
    { method: 'PUT', path: '/users/me/preferences', access: 'authenticated', handler: absent.changePreferences },
    { method: 'GET', path: '/users/me/referrals', access: 'authenticated', handler: absent.referrals },
    { method: 'GET', path: '/locales/languages', access: 'public', handler: absent.languages },
    { method: 'GET', path: '/locales/countries', access: 'public', handler: absent.countries },
    { method: '*', path: '/payments/*rest', access: 'public', handler: absent.payments },
  ]
  return [
    ...base.map(route => ({ ...route, path: `${BASE_PATH}${route.path}` })),
    { method: 'GET', path: '/health', access: 'public', handler: meta.health },
    { method: 'GET', path: '', access: 'public', handler: front.page },
    { method: 'GET', path: '/favicon.ico', access: 'public', handler: front.icon },
    { method: '*', path: '/api/v1/*rest', access: 'public', handler: meta.gone },
    { method: '*', path: '/api/v2/*rest', access: 'public', handler: meta.gone },
  ]
}
