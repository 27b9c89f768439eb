import { Type } from 'typebox'
import { HoldfastError } from '../domain/errors.ts'
import { count, text } from './answer-fields.ts'
import { type ContractRoute, route } from './contract-route.ts'

const Locales = Type.Array(Type.Object({ code: text, name: text }), { title: 'Locales' })

const changePlan = route({
  method: 'PUT',
  path: '/plans/change',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Refused: the operator of the node assigns plans',
  answers: {},
  errors: ['NOT_OFFERED'],
  handler: () => {
    throw new HoldfastError('NOT_OFFERED', 'only the operator of this node assigns plans')
  },
})

const preferences = route({
  method: 'GET',
  path: '/users/me/preferences',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Always empty: the node keeps no preferences',
  answers: { 200: Type.Object({ language: Type.Null(), country: Type.Null() }, { title: 'Preferences' }) },
  handler: () => ({ status: 200, body: { language: null, country: null } }),
})

const changePreferences = route({
  method: 'PUT',
  path: '/users/me/preferences',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Refused: the node keeps no preferences',
  answers: {},
  errors: ['NOT_OFFERED'],
  handler: () => {
    throw new HoldfastError('NOT_OFFERED', 'this node keeps no preferences')
  },
})

const referrals = route({
  method: 'GET',
  path: '/users/me/referrals',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Always empty: the node has no referrals',
  answers: {
    200: Type.Object({ referralCode: Type.Null(), referrals: Type.Array(text), total: count }, { title: 'Referrals' }),
  },
  handler: () => ({ status: 200, body: { referralCode: null, referrals: [], total: 0 } }),
})

const languages = route({
  method: 'GET',
  path: '/locales/languages',
  access: 'public',
  tag: 'Node',
  summary: 'List the languages of the node',
  answers: { 200: Locales },
  handler: () => ({ status: 200, body: [{ code: 'en', name: 'English' }] }),
})

const countries = route({
  method: 'GET',
  path: '/locales/countries',
  access: 'public',
  tag: 'Node',
  summary: 'Always empty: the node has no list of countries',
  answers: { 200: Locales },
  handler: () => ({ status: 200, body: [] }),
})

const payments = route({
  method: '*',
  path: '/payments/*rest',
  access: 'public',
  tag: 'Node',
  summary: 'Refused: the node takes no payments',
  answers: {},
  errors: ['NOT_FOUND'],
  handler: () => {
    throw new HoldfastError('NOT_FOUND', 'this node takes no payments')
  },
})

/**
 * Features of hosted pinning services that Holdfast does not have. Reads return empty data, and changes are refused.
 */
export const absentRoutes: readonly ContractRoute[] = [
  changePlan,
  preferences,
  changePreferences,
  referrals,
  languages,
  countries,
  payments,
]
