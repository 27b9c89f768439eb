import type { EngineOptions } from '../../src/index.ts'

/** A refusal for the state of PostgreSQL. */
export interface PostgresCase {
  /** Files whose refusal the case reaches. */
  from: readonly string[]
  /** Statements that bring the database of a node `a` into the state. */
  sql?: string
  /** Statements that take the state back. */
  undo?: string
  /** True for the start of another, new directory. */
  isNew?: boolean
  /** True for a directory that names no node. */
  isAlone?: boolean
  options?: Partial<EngineOptions>
}

const JOIN = ['adapters/postgres/fleet/join-fleet.ts']
const state = (name: string) => ({
  sql: `UPDATE nodes SET state = '${name}'`,
  undo: "UPDATE nodes SET state = 'active'",
})

export const POSTGRES_CASES: Readonly<Record<string, PostgresCase>> = {
  'a node that has retired': { from: JOIN, ...state('retired') },
  'a node that was given up': { from: JOIN, ...state('forgotten') },
  'a node that shall return, but was not given up': {
    from: JOIN,
    options: { node: { id: 'a', url: 'http://127.0.0.1:1', asNew: true } },
  },
  'a second directory of a node': { from: JOIN, isNew: true },
  'a directory beside a fleet': { from: JOIN, isNew: true, isAlone: true },
  'a cluster on a node that retires': {
    from: JOIN,
    sql: "INSERT INTO nodes (name, number, id, state) VALUES ('c', 7, 'c', 'retiring')",
    undo: "DELETE FROM nodes WHERE name = 'c'",
    options: {
      clusters: [
        { id: 'near', node: 'a' },
        { id: 'far', node: 'c' },
      ],
    },
  },
  'a cluster with copies on a node that never joined': {
    from: ['adapters/postgres/copies/copy-sets.ts'],
    options: { clusters: [{ id: 'near', nodes: ['a', 'typo'], copies: 2 }] },
  },
  'a catalogue that is being moved in': {
    from: JOIN,
    sql: "INSERT INTO moves (node) VALUES ('other')",
    undo: 'DELETE FROM moves',
  },
  'a database of a newer version': {
    from: ['adapters/postgres/schema/migrate.ts'],
    sql: 'INSERT INTO schema_versions (version, tolerated) VALUES (9999, false)',
    undo: 'DELETE FROM schema_versions WHERE version = 9999',
  },
  'another data.key than that of the other nodes': {
    from: ['src/storage/data-key.ts'],
    sql: "UPDATE sealing_key SET id = 'other ' || id",
    undo: 'UPDATE sealing_key SET id = substr(id, 7)',
  },
}
