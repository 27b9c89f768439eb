import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { CommitIntent, NewRecord, PinLimits } from '../../../src/catalogue/index.ts'
import { NO_LIMITS, NOW, SIZES } from '../../catalogue/content-support.ts'
import type { TestNode } from './catalogue-in-postgres.ts'

/** Returns an intent with the only block of its DAG, as the upload of a small file makes it. */
export function blockIntent(
  record: NewRecord,
  { limits = {}, isAnew = false }: { limits?: Partial<PinLimits>; isAnew?: boolean } = {},
): CommitIntent {
  const { codec, multihash } = record
  const content = { dag: { codec, multihash, ...SIZES }, block: { multihash, bytes: multihash.slice(0, 20) } }
  const own = { record, backendId: 0, limits: { ...NO_LIMITS, ...limits }, now: NOW, stagedRootId: null, isAnew }
  return { kind: 'whole', ...own, ...content }
}

export async function insertToken({ keys }: TestNode, id: string, maxUses: number, accountId = 'one'): Promise<void> {
  const upload = { maxUses, maxBytes: null, cluster: null, timelock: null }
  const rest = {
    parentId: null,
    label: null,
    prefix: '',
    scopes: [],
    ipAllowlist: [],
    expiresAt: null,
    lastUsedAt: null,
  }
  await keys.insert(
    { id, accountId, name: id, hash: Buffer.from(id), createdAt: NOW, upload, ...rest },
    { now: NOW, maxKeys: null },
  )
}

/** Notes the statements that connections send. */
export class Turn {
  readonly #texts: string[] = []
  readonly #database: Postgres
  readonly #connection: Postgres['connection']

  constructor(database: Postgres) {
    this.#database = database
    this.#connection = database.connection
    const connection = database.connection.bind(database)
    database.connection = async () => {
      const client = await connection()
      const { query, release } = client
      Object.assign(client, {
        query: (asked: string | { text: string }) => {
          this.#texts.push(typeof asked === 'string' ? asked : asked.text)
          return Reflect.apply(query, client, [asked])
        },
        release: (isBroken?: boolean) => {
          Object.assign(client, { query, release })
          release.call(client, isBroken)
        },
      })
      return client
    }
  }

  statements(which: RegExp): number {
    return this.#texts.filter(text => which.test(text)).length
  }

  end(): void {
    this.#database.connection = this.#connection
  }
}
