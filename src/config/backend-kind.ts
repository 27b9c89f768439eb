import Type from 'typebox'
import type { BackendDefinition } from '../domain/cluster.ts'

/** Configuration of one kind of remote system that can store a cluster's content. */
export interface BackendKind<Definition extends BackendDefinition = BackendDefinition> {
  /** Value of `clusters[].backend.type`. */
  readonly type: Definition['type']
  /** JSON Schema of a definition, including the field `type`. */
  readonly schema: object
  /** Checks what the schema cannot express. @throws HoldfastError `CONFIG_INVALID` with the name of the field */
  check(definition: Definition, problems: BackendProblems): void
  /** Returns a key for the place where a definition stores content. Clusters with the same key share one backend. */
  placeOf(definition: Definition): string
}

/** Reports problems of a backend definition. */
export interface BackendProblems {
  /**
   * @throws HoldfastError `CONFIG_INVALID` with the name of the field; an empty name stands for the whole definition
   */
  fail(field: string, problem: string): never
  /**
   * @throws HoldfastError `CONFIG_INVALID` unless the text is absent or is an http(s) URL without query and credentials
   */
  url(field: string, text: string | undefined): void
}

/** Limits of the copy that this node stores of a cluster's content. Every backend definition has these fields. */
export const keptHereFields = {
  cacheBytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "Bytes of the cluster's content that stay on this disk to be read again.",
      defaultText: '`1073741824` (1 GiB)',
    }),
  ),
  localGraceSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description:
        'Seconds that content stays on this disk after the cluster has it, until a check confirms it. It may exceed `cacheBytes`. The cluster is checked at least twice in this time: `0`, or at least `120`.',
      defaultText: '`86400` (a day)',
    }),
  ),
}
