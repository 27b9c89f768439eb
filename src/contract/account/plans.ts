import { Type } from 'typebox'
import type { Plan } from '../../domain/plan.ts'
import { text } from '../answer-fields.ts'
import { type ContractRoute, route, type Shown } from '../contract-route.ts'
import { planFields, usage } from './user-fields.ts'

const PlanView = Type.Object({ id: text, ...planFields })
const Plans = Type.Array(PlanView, { title: 'Plans' })
const OwnPlan = Type.Object({ ...PlanView.properties, usage }, { title: 'OwnPlan' })

const list = route({
  method: 'GET',
  path: '/plans',
  access: 'public',
  tag: 'Node',
  summary: 'List the plans of the node',
  answers: { 200: Plans },
  handler: (_, { plans }) => ({ status: 200, body: plans.names().map(name => presentPlan(plans.get(name))) }),
})

const own = route({
  method: 'GET',
  path: '/plans/my-plan',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Show the plan of the account and its usage',
  answers: { 200: OwnPlan },
  handler: async ({ principal }, { pins }) => {
    return { status: 200, body: { ...presentPlan(principal.plan), usage: await pins.usage(principal.account.id) } }
  },
})

const ofUser = route({
  method: 'GET',
  path: '/users/me/plans',
  access: 'authenticated',
  tag: 'Account',
  summary: 'List the plan of the account',
  answers: { 200: Plans },
  handler: ({ principal }) => ({ status: 200, body: [presentPlan(principal.plan)] }),
})

/** Only the operator of the node can assign a plan to an account. */
export const planRoutes: readonly ContractRoute[] = [list, own, ofUser]

function presentPlan(plan: Plan): Shown<typeof PlanView> {
  return { id: plan.name, ...plan }
}
