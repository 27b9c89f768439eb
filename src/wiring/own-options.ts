import type { EngineOptions } from '../api.ts'
import { HoldfastError } from '../domain/errors.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const isFunction = (value: unknown): boolean => typeof value === 'function'
const has = (value: unknown, ...methods: string[]): boolean =>
  isObject(value) && methods.every(name => isFunction(Reflect.get(Object(value), name)))

interface Check {
  isValid(value: unknown): boolean
  must: string
}

/** Options whose wrong types would fail later without a name, or not at all. Texts of the environment are common. */
const CHECKS: Partial<Record<keyof EngineOptions, Check>> = {
  logger: {
    isValid: value => has(value, 'debug', 'info', 'warn', 'error'),
    must: 'have the methods debug, info, warn and error',
  },
  clock: { isValid: value => has(value, 'now', 'after'), must: 'have the methods now and after' },
  environment: { isValid: isObject, must: 'be an object of texts' },
  backends: { isValid: isObject, must: 'be an object of backends' },
  threadPoolSize: { isValid: value => Number.isInteger(value) && Number(value) > 0, must: 'be an integer above 0' },
  memoryBytes: { isValid: value => Number.isFinite(value) && Number(value) > 0, must: 'be a number of bytes above 0' },
  singleUser: { isValid: value => typeof value === 'boolean', must: 'be true or false' },
}

/** @throws HoldfastError `CONFIG_INVALID`, which names the option */
export function checkOwnOptions(options: object): void {
  for (const [name, { isValid, must }] of Object.entries(CHECKS)) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined && !isValid(value))
      throw new HoldfastError('CONFIG_INVALID', `options: ${name} must ${must}`)
  }
}
