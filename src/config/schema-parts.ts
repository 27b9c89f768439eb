import Type, { type Static, type TOptional, type TSchema, type TSchemaOptions } from 'typebox'

/** What schemas of configurations are made of. */
export const closed = { additionalProperties: false }

export const configText = (description?: string) => Type.String({ minLength: 1, ...told(description) })
export const configCount = (description?: string) => Type.Integer({ minimum: 1, ...told(description) })

/** A text that may be left out. */
export const optionalText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, defaultText: 'none' }))

export function orNull<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options)
}

function told(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}

/** Marks, for the compiler alone, a field that is there in any case once defaults have been filled in. */
export interface Defaulted {
  readonly '~defaulted'?: true
}

/** A field that may be left out and has a `default`. */
export function defaulted<Schema extends TSchema>(schema: Schema): TOptional<Schema> & Defaulted {
  return Type.Optional(schema) as TOptional<Schema> & Defaulted
}

/** Fields under one name, all of which may be left out. `title` is what its type is called. */
export function group<Fields extends Record<string, TSchema>>(fields: Fields, options: TSchemaOptions = {}) {
  return defaulted(Type.Object(fields, { ...closed, default: {}, ...options }))
}

/** A value of a schema once its defaults have been filled in. */
export type Complete<Schema extends TSchema> = Schema extends {
  properties: infer Fields extends Record<string, TSchema>
}
  ? { [Key in keyof Fields as IsThere<Fields[Key]> extends true ? Key : never]: Complete<Fields[Key]> } & {
      [Key in keyof Fields as IsThere<Fields[Key]> extends true ? never : Key]?: Static<Fields[Key]>
    }
  : Static<Schema>

type IsThere<Field> = '~defaulted' extends keyof Field ? true : '~optional' extends keyof Field ? false : true

/** A number of seconds, with what it is unless it is given. */
export const seconds = (fallback: number, description: string) =>
  defaulted(Type.Number({ exclusiveMinimum: 0, default: fallback, description }))
