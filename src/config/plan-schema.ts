import Type from 'typebox'
import { closed, configCount, configText, defaulted, orNull } from './schema-parts.ts'

/** Null means no limit. */
const limit = (description: string) => defaulted(orNull(Type.Integer({ minimum: 0 }), { default: null, description }))

const rateLimit = (description: string) =>
  defaulted(
    orNull(Type.Object({ requests: configCount(), windowSeconds: Type.Number({ exclusiveMinimum: 0 }) }, closed), {
      default: null,
      description,
    }),
  )

export const planSchema = Type.Object(
  {
    timelock: Type.Boolean({ description: 'True if pins may expire.' }),
    clusters: Type.Union([Type.Literal('*'), Type.Array(configText())], {
      description: 'Cluster ids, or `"*"` for all.',
    }),
    serverImport: defaulted(
      Type.Boolean({
        default: true,
        description: 'True if the plan may use `POST /files/directory`, which can read everything in the import roots.',
      }),
    ),
    maxFileBytes: limit('Content bytes of one file, inclusive.'),
    maxDirectoryBytes: limit('Content bytes of all files of one directory upload.'),
    maxDirectoryFiles: limit('Files of one directory upload; as many directories.'),
    maxStorageBytes: limit('Bytes of all blocks of an account. Each block counts as at least 512 bytes, a DAG once.'),
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
        description: 'Pin requests of an account that still fetch their content.',
      }),
    ),
    maxEgressBytes: limit(
      'Body bytes that the gateway sends for an account in a month. Beyond it, the content is 429 `RATE_LIMIT`.',
    ),
    pageLimit: defaulted(
      Type.Object(
        { default: configCount(), max: configCount() },
        { ...closed, default: { default: 20, max: 100 }, description: 'Rows per page of a list.' },
      ),
    ),
    rateLimit: rateLimit('`{"requests", "windowSeconds"}` for each API key.'),
    accountRateLimit: rateLimit('The same for all keys of an account together.'),
  },
  closed,
)
