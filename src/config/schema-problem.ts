import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { unknownKeys } from '../domain/near-names.ts'

export interface Problem {
  path: string
  problem: string
}

export type Fail = (path: string, problem: string) => never

/**
 * Returns the first problem of a value. If no alternative of a union matches, returns the most deeply nested problem.
 */
export function firstProblem(schema: TSchema, value: unknown): Problem {
  const errors = Value.Errors(schema, value)
  const unknown = errors.find(error => error.keyword === 'additionalProperties')
  if (unknown?.keyword === 'additionalProperties') {
    const names = namesAt(schema, unknown.schemaPath)
    return {
      path: dotted(unknown.instancePath),
      problem: unknownKeys(unknown.params.additionalProperties, names),
    }
  }
  const missing = errors.find(error => error.keyword === 'required')
  if (missing?.keyword === 'required') {
    return { path: dotted(missing.instancePath), problem: `${missing.params.requiredProperties.join(', ')} missing` }
  }
  const deepest = [...errors].sort((a, b) => depth(b.instancePath) - depth(a.instancePath))[0]
  if (deepest === undefined) return { path: '', problem: 'is not a valid configuration' }
  const here = errors.filter(error => error.instancePath === deepest.instancePath)
  const constants = here.filter(error => error.keyword === 'const')
  const alternatives = here
    .filter(({ keyword, schemaPath }) => keyword !== 'anyOf' && constants.every(each => each.schemaPath !== schemaPath))
    .map(error => error.message)
  const values = constants.map(({ params }) => JSON.stringify(params.allowedValue))
  if (values.length > 0) alternatives.unshift(`must be ${values.join(' or ')}`)
  return { path: dotted(deepest.instancePath), problem: [...new Set(alternatives)].join(' or ') || deepest.message }
}

/** Returns the names of an object's properties. The path is that of an error, such as `#/properties/pin`. */
function namesAt(schema: TSchema, schemaPath: string): string[] {
  let at: unknown = schema
  for (const segment of segmentsOf(schemaPath)) at = Reflect.get(Object(at), segment)
  return Object.keys(Object(Reflect.get(Object(at), 'properties')))
}

function depth(instancePath: string): number {
  return instancePath.split('/').length
}

function dotted(instancePath: string): string {
  return segmentsOf(instancePath).join('.')
}

function segmentsOf(pointer: string): string[] {
  const [, ...segments] = pointer.split('/')
  return segments.map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Fails unless the text is undefined, or an http or https URL without query, fragment and credentials. */
export function checkUrl(path: string, text: string | undefined, fail: Fail): void {
  if (text === undefined) return
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) fail(path, 'must be an http or https URL')
  else if (/[?#]/.test(text) || url.username !== '' || url.password !== '') {
    fail(path, 'must be a URL without query, fragment or credentials')
  }
}
