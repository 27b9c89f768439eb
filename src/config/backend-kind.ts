import Type from 'typebox'
import type { BackendDefinition } from '../domain/cluster.ts'

/** Configuration of one kind of remote system that can keep a cluster's content. */
export interface BackendKind<Definition extends BackendDefinition = BackendDefinition> {
  /** Value of `clusters[].backend.type`. */
  readonly type: Definition['type']
  /** The JSON Schema of a definition, `type` included. */
  readonly schema: object
  /** Checks a definition beyond its schema. @throws HoldfastError `CONFIG_INVALID` naming the field */
  check(definition: Definition, problems: BackendProblems): void
  /** Returns the identity of the place that a definition names. Clusters of one place share it. */
  placeOf(definition: Definition): string
}

/** Reports problems of a definition. */
export interface BackendProblems {
  /** @throws HoldfastError `CONFIG_INVALID` naming the field; an empty one is the definition itself */
  fail(field: string, problem: string): never
  /** @throws HoldfastError `CONFIG_INVALID` unless the text is absent or an http(s) URL without query and credentials */
  url(field: string, text: string | undefined): void
}

/** Fields of every definition: limits of the local copy. */
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
