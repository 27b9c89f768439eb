import Type, { type Static, type TOptional, type TSchema, type TSchemaOptions } from 'typebox'

export const closed = { additionalProperties: false }

export const configText = (description?: string) => Type.String({ minLength: 1, ...described(description) })
export const configCount = (description?: string) => Type.Integer({ minimum: 1, ...described(description) })

export const optionalText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, defaultText: 'none' }))

export function orNull<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options)
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}

/** Marks a field that is always present once defaults have been filled in. It exists only for the compiler. */
export interface Defaulted {
  readonly '~defaulted'?: true
}

/** Returns the schema of an optional field that has a `default`. */
export function defaulted<Schema extends TSchema>(schema: Schema): TOptional<Schema> & Defaulted {
  return Type.Optional(schema) as TOptional<Schema> & Defaulted
}

/** Returns the schema of a group of optional fields. `options.title` is the name of the group's TypeScript type. */
export function group<Fields extends Record<string, TSchema>>(fields: Fields, options: TSchemaOptions = {}) {
  return defaulted(Type.Object(fields, { ...closed, default: {}, ...options }))
}

/** TypeScript type of a schema's value once defaults have been filled in. */
export type Complete<Schema extends TSchema> = Schema extends {
  properties: infer Fields extends Record<string, TSchema>
}
  ? { [Key in keyof Fields as IsThere<Fields[Key]> extends true ? Key : never]: Complete<Fields[Key]> } & {
      [Key in keyof Fields as IsThere<Fields[Key]> extends true ? never : Key]?: Static<Fields[Key]>
    }
  : Static<Schema>

type IsThere<Field> = '~defaulted' extends keyof Field ? true : '~optional' extends keyof Field ? false : true

export const seconds = (fallback: number, description: string) =>
  defaulted(Type.Number({ exclusiveMinimum: 0, default: fallback, description }))
