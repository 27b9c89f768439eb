import Type from 'typebox'
import { closed, configCount, configText, defaulted, orNull } from './schema-parts.ts'

/** Left out, it is null: no limit. */
const limit = (description: string) => defaulted(orNull(Type.Integer({ minimum: 0 }), { default: null, description }))

const rateLimit = (description: string) =>
  defaulted(
    orNull(Type.Object({ requests: configCount(), windowSeconds: Type.Number({ exclusiveMinimum: 0 }) }, closed), {
      default: null,
      description,
    }),
  )

/** A plan in a configuration, of which the rest is filled in. */
export const planSchema = Type.Object(
  {
    timelock: Type.Boolean({ description: 'Whether pins may carry an expiry.' }),
    clusters: Type.Union([Type.Literal('*'), Type.Array(configText())], {
      description: 'Cluster ids, or `"*"` for all.',
    }),
    serverImport: defaulted(
      Type.Boolean({
        default: true,
        description:
          'Whether `POST /files/directory` is offered. Whoever has it can read all that is in the import roots.',
      }),
    ),
    maxFileBytes: limit('Content bytes of one file; a file of exactly this size passes.'),
    maxDirectoryBytes: limit('Content bytes of all files of one directory upload.'),
    maxDirectoryFiles: limit('Files of one directory upload.'),
    maxStorageBytes: limit(
      'Bytes that all content of an account takes: the blocks of each DAG, each block counted as at least 512 bytes, each DAG once.',
    ),
    maxPins: limit('Live records of an account.'),
    maxKeys: defaulted(
      orNull(Type.Integer({ minimum: 0 }), {
        default: 100,
        description: 'API keys of an account that have not expired.',
      }),
    ),
    maxQueuedPins: defaulted(
      orNull(Type.Integer({ minimum: 0 }), {
        default: 1_000,
        description: 'Pin requests of an account that wait for their content.',
      }),
    ),
    pageLimit: defaulted(
      Type.Object(
        { default: configCount(), max: configCount() },
        { ...closed, default: { default: 20, max: 100 }, description: 'Rows per page of a list.' },
      ),
    ),
    rateLimit: rateLimit('`{"requests", "windowSeconds"}` for each API key.'),
    accountRateLimit: rateLimit('The same over all keys of an account.'),
  },
  closed,
)
