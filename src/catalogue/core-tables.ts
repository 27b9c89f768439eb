import { purgeOf } from './rules/dialect.ts'
import type { CatalogueTable } from './tables.ts'

const DAG = 'backend_id bigint, codec bigint, multihash bytea'
/** Number of the account's list in SQLite, from which the target derives words. */
const LIST = 'list = COALESCE((SELECT a.rowid FROM accounts a WHERE a.id = account_id), 0)'
const RECORD = `
  id text, seq bigint = search_id, account_id text, cluster_id text, cid text, codec bigint, multihash bytea,
  root_id bigint, type text, status text, status_at bigint, status_code text, status_reason text, fetch_id bigint,
  name text, original_name text, custom_name text, meta text, size bigint, dag_size bigint, charge bigint,
  expires_at bigint, created_at bigint, owner bigint, ${LIST}`

/** Tables of accounts, of records and of their content. */
export const coreTables: readonly CatalogueTable[] = [
  {
    name: 'accounts',
    account: 'id',
    move: {
      columns: `id text, seq bigint = rowid, email text, name text, plan text, role text, default_cluster text,
        password_hash text, disabled boolean, created_at bigint, deleted_at bigint, pins bigint, expiring_pins bigint,
        stored_bytes bigint, kept_bytes bigint, owner bigint, default_visibility text`,
    },
  },
  {
    name: 'api_keys',
    account: 'account_id',
    purge: { rows: purgeOf('api_keys') },
    move: {
      columns: `id text, seq bigint = rowid, account_id text, parent_id text, name text, label text, hash bytea,
        prefix text, scopes text[], ip_allowlist text[], created_at bigint, expires_at bigint, last_used_at bigint,
        upload json, max_uses bigint, uses bigint, is_token boolean = max_uses IS NOT NULL, proved_at bigint`,
    },
  },
  {
    name: 'sessions',
    account: 'account_id',
    purge: { rows: purgeOf('sessions') },
    move: {
      columns: 'id text, seq bigint = rowid, account_id text, created_at bigint, expires_at bigint, proved_at bigint',
    },
  },
  {
    name: 'second_factors',
    account: 'account_id',
    sealed: {
      listed: {
        as: 'secondFactors',
        names: `SELECT a.email AS name FROM second_factors f JOIN accounts a ON a.id = f.account_id
          WHERE f.enabled_at IS NOT NULL AND a.deleted_at IS NULL ORDER BY a.email`,
      },
      forget: 'DELETE FROM second_factors',
    },
    move: { columns: 'account_id text, secret bytea, enabled_at bigint, last_step bigint' },
  },
  {
    name: 'password_links',
    account: 'account_id',
    move: { columns: 'account_id text, hash bytea, expires_at bigint' },
  },
  {
    name: 'identities',
    account: 'account_id',
    // Users of a sign-in provider must sign in again.
    sealed: { forget: 'UPDATE identities SET refresh_token = NULL, refresh_at = NULL' },
    move: {
      columns: `issuer text, subject text, account_id text, confirmed_at bigint, refresh_token bytea,
        refresh_at bigint`,
    },
  },
  {
    name: 'recovery_codes',
    account: 'account_id',
    // A code is only a hash, but without its second factor it opens nothing.
    sealed: { forget: 'DELETE FROM recovery_codes' },
    move: { columns: 'account_id text, hash bytea', key: ['account_id', 'hash'] },
  },
  {
    name: 'roots',
    move: {
      columns: `id bigint, ${DAG}, owner bigint, content_size bigint, dag_size bigint, blocks bigint, charge bigint,
        file_count bigint, listed boolean = file_count > 0, announced_at bigint`,
      where: "state = 'complete'",
      stays: true,
    },
  },
  {
    name: 'root_files',
    move: {
      columns: `root_id bigint, position bigint, path text, codec bigint, multihash bytea, size bigint,
        owner bigint = (SELECT r.owner FROM roots r WHERE r.id = root_id)`,
      where: "EXISTS (SELECT 1 FROM roots WHERE roots.id = root_id AND state = 'complete')",
      key: ['root_id', 'position'],
      stays: true,
    },
  },
  {
    name: 'fetches',
    account: 'account_id',
    move: {
      columns: `id bigint, account_id text, ${DAG}, owner bigint, possessor bigint, root_id bigint, hold_id text = 'fetch ' || id, origins text[],
        attempts bigint, last_error text, blocks bigint, bytes bigint, charge bigint,
        created_at bigint = (SELECT r.created_at FROM roots r WHERE r.id = root_id), running boolean, whole boolean,
        held_root_id = (SELECT r.id FROM roots r WHERE r.id = root_id AND r.state = 'complete')`,
      where: 'EXISTS (SELECT 1 FROM roots WHERE roots.id = root_id)',
    },
  },
  { name: 'records', account: 'account_id', move: { columns: RECORD, key: ['search_id'] } },
  {
    name: 'removals',
    account: 'account_id',
    move: { columns: 'id bigint, account_id text, codec bigint, multihash bytea, cluster_id text, created_by bigint' },
  },
  {
    name: 'bulk_changes',
    account: 'account_id',
    move: {
      columns: `id bigint, name text, account_id text, action text, selection text, phase text, place text,
        total bigint, done bigint, failed bigint, restored bigint, failures text, freed_bytes bigint, undo_ms bigint,
        created_at bigint, ended_at bigint, undo_ended text`,
    },
  },
  { name: 'removed_records', account: 'account_id', move: { columns: `${RECORD}, change_id bigint` } },
  {
    name: 'placements',
    account: 'account_id',
    move: {
      columns: `id bigint, ${DAG}, account_id text, wanted boolean, generation bigint, placed boolean,
        unpin_until bigint, anew boolean, wanted_at bigint, entrusted boolean`,
    },
  },
  {
    name: 'jobs',
    account: 'account_id',
    move: {
      columns: `kind text, key bigint, queue text, account_id text, due_at bigint, attempts bigint, last_error text`,
      key: ['kind', 'key'],
      stays: true,
    },
  },
  {
    name: 'egress',
    account: 'account_id',
    move: { columns: 'account_id text, month bigint, domain text, bytes bigint' },
  },
  { name: 'released_bytes', account: 'account_id' },
  ...named('postgres', 'account_versions', 'login_challenges', 'record_places').map(inAccount),
  { name: 'signing_keys', only: 'postgres', sealed: { forget: 'DELETE FROM signing_keys' } },
  { name: 'sealing_key', only: 'postgres', sealed: { forget: 'DELETE FROM sealing_key' } },
  { name: 'fleet_secret', only: 'postgres', sealed: { forget: 'DELETE FROM fleet_secret' } },
  ...named(
    'postgres',
    'attempts',
    'copies',
    'copy_absences',
    'copy_sets',
    'copy_walk',
    'disputes',
    'moves',
    'nodes',
    'offers',
    'request_windows',
    'revisions',
    'roots_gone',
    'schema_versions',
  ),
  ...named('postgres', 'set_backs', 'takedowns'),
  { name: 'holds' },
  { name: 'deletion_stops' },
  ...named('sqlite', 'search_lists', 'search_runs').map(inAccount),
  ...named('sqlite', 'search_pending', 'counters', 'backends', 'blocks', 'small_blocks', 'root_blocks', 'garbage'),
  ...named('sqlite', 'announced_as', 'verification', 'cluster_checks', 'data_key', 'node_identity'),
  ...named('sqlite', 'catalogue_move', 'catalogue_node', 'catalogue_past', 'catalogue_runs', 'uncompared'),
  ...named('sqlite', 'withheld', 'withheld_links', 'reach_walks', 'reached'),
]

/** Returns tables that stay in one database. */
function named(only: 'sqlite' | 'postgres', ...names: string[]): CatalogueTable[] {
  return names.map(name => ({ name, only }))
}

function inAccount(table: CatalogueTable): CatalogueTable {
  return { ...table, account: 'account_id' }
}
