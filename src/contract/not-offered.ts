import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { ApiResponse } from '../http/types.ts'

/**
 * What clients of hosted services ask for and a node of one's own has not: reads say so by being empty, changes are
 * refused.
 */
export class NotOffered {
  /** GET /users/me/preferences. */
  preferences = (): ApiResponse => jsonResponse(200, { language: null, country: null })

  /** PUT /users/me/preferences. */
  changePreferences = (): never => {
    throw new HoldfastError('NOT_OFFERED', 'this node keeps no preferences')
  }

  /** PUT /plans/change. */
  changePlan = (): never => {
    throw new HoldfastError('NOT_OFFERED', 'plans of this node are given by its operator')
  }

  /** GET /users/me/referrals. */
  referrals = (): ApiResponse => jsonResponse(200, { referralCode: null, referrals: [], total: 0 })

  /** GET /locales/languages: those that this node speaks. */
  languages = (): ApiResponse => jsonResponse(200, [{ code: 'en', name: 'English' }])

  /** GET /locales/countries: none is ever asked for. */
  countries = (): ApiResponse => jsonResponse(200, [])

  /** Everything below /payments. */
  payments = (): never => {
    throw new HoldfastError('NOT_FOUND', 'this node takes no payments')
  }
}
