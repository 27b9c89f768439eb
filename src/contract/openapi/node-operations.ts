import { Type } from 'typebox'
import type { Operations } from './operation.ts'

/** What the node says of itself to anybody. */
export const nodeOperations: Operations = {
  'GET ': { tag: 'Node', summary: 'Name and version', answers: { 200: 'About' } },
  'GET /health': {
    tag: 'Node',
    summary: 'Whether the node answers',
    details:
      '`full`: new content is refused until there is room, everything else goes on. `failed`, with 503: the disk has failed a write, and nothing more is written until a restart. Also at `/health` outside the versioned base.',
    answers: { 200: 'Health', 503: 'Health' },
  },
  'GET /peers': { tag: 'Node', summary: 'How many peers are connected', answers: { 200: 'Peers' } },
  'GET /plans': { tag: 'Node', summary: 'The plans of the node', answers: { 200: 'Plans' } },
  'GET /locales/languages': { tag: 'Node', summary: 'The languages of the node', answers: { 200: 'Locales' } },
  'GET /locales/countries': {
    tag: 'Node',
    summary: 'Always empty: no country is asked for',
    answers: { 200: 'Locales' },
  },
  'GET /openapi.json': {
    tag: 'Node',
    summary: 'This description, for programs',
    answers: { 200: { type: 'application/json', schema: Type.Object({}, { additionalProperties: true }) } },
  },
  'GET /docs': {
    tag: 'Node',
    summary: 'This description, for people',
    answers: { 200: { type: 'text/html', schema: Type.String() } },
  },
}
