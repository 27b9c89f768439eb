import type { Route } from '../http/route.ts'
import { AdminRoutes, type AdminServices } from './admin.ts'

/** Where the owner of a node administers it: beside the contract, and no part of it. */
export const ADMIN_PATH = '/admin/v1'

/** The owner's routes as a table. */
export function createAdminRoutes(services: AdminServices): Route[] {
  const admin = new AdminRoutes(services)
  return [
    { method: 'GET', path: `${ADMIN_PATH}/stats`, access: 'owner', handler: admin.stats },
    { method: 'POST', path: `${ADMIN_PATH}/gc`, access: 'owner', handler: admin.collect },
    { method: 'POST', path: `${ADMIN_PATH}/verify`, access: 'owner', handler: admin.verify },
    { method: 'POST', path: `${ADMIN_PATH}/reconcile`, access: 'owner', handler: admin.reconcile },
    { method: 'POST', path: `${ADMIN_PATH}/backup`, access: 'owner', handler: admin.backup },
    { method: 'GET', path: `${ADMIN_PATH}/accounts`, access: 'owner', handler: admin.accounts },
    { method: 'DELETE', path: `${ADMIN_PATH}/accounts/:id`, access: 'owner', handler: admin.delete },
    { method: 'POST', path: `${ADMIN_PATH}/accounts/:id/disable`, access: 'owner', handler: admin.disable },
    { method: 'POST', path: `${ADMIN_PATH}/accounts/:id/enable`, access: 'owner', handler: admin.enable },
    { method: 'GET', path: `${ADMIN_PATH}/accounts/:id/sessions`, access: 'owner', handler: admin.sessions },
    { method: 'DELETE', path: `${ADMIN_PATH}/accounts/:id/sessions`, access: 'owner', handler: admin.endSessions },
  ]
}
