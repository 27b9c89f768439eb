import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'

/** A node of a plan from EXPLAIN ANALYZE. */
export interface RunPlan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: RunPlan[]
}

type Client = Awaited<ReturnType<Postgres['connection']>>
type Query = { name?: string; text: string; values?: unknown[] }

/**
 * Runs `work`, then repeats each statement it sent as a generic plan. Returns the result, and how many rows and index
 * entries the statements visited.
 */
export async function visitedBy<T>(
  database: Postgres,
  work: () => Promise<T>,
): Promise<{ result: T; visited: number }> {
  const sent: Array<{ text: string; values: unknown[] }> = []
  const connection = database.connection.bind(database)
  database.connection = async () => {
    const client = await connection()
    const query = client.query.bind(client)
    const release = client.release.bind(client)
    const noting = (request: Query) => {
      sent.push({ text: request.text, values: request.values ?? [] })
      return query(request)
    }
    Object.assign(client, {
      query: noting,
      release: (isBroken?: boolean) => {
        Object.assign(client, { query, release })
        release(isBroken)
      },
    })
    return client
  }
  let result: T
  try {
    result = await work()
  } finally {
    database.connection = connection
  }
  const client = await database.connection()
  try {
    await client.query("SET plan_cache_mode = 'force_generic_plan'")
    let visited = 0
    for (const { text, values } of sent) visited += rowsOf(await runPlanOf(client, text, values))
    return { result, visited }
  } finally {
    client.release(true)
  }
}

async function runPlanOf(client: Client, text: string, values: readonly unknown[]): Promise<RunPlan> {
  await client.query(`PREPARE looked_at AS ${text}`)
  const given = values.map(value => client.escapeLiteral(textOf(value))).join(', ')
  const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at${values.length === 0 ? '' : `(${given})`}`
  const { rows } = await client.query<{ 'QUERY PLAN': Array<{ Plan: RunPlan }> }>(explain)
  await client.query('DEALLOCATE looked_at')
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error(`there is no plan of ${text}`)
  return plan
}

function rowsOf(plan: RunPlan): number {
  const below = (plan.Plans ?? []).reduce((sum, part) => sum + rowsOf(part), 0)
  const isScan = /^(Seq|Index|Index Only|Bitmap Heap|Tid) Scan$/.test(plan['Node Type'])
  if (!isScan) return below
  const each =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  return below + each * plan['Actual Loops']
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  return Array.isArray(value)
    ? `{${value.map(one => `"${textOf(one).replaceAll('\\', '\\\\')}"`).join(',')}}`
    : String(value)
}
