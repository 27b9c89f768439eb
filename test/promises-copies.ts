import type { KeptPromise } from './promises.ts'
import { hasPostgres } from './support/postgres-server.ts'

const copies = (name: string) => ({ file: 'test/adapters/postgres/copies.test.ts', name })
const freed = (name: string) => ({ file: 'test/adapters/postgres/freed-copies.test.ts', name })
const schema = 'adapters/postgres/schema-copies.ts'

const promises: readonly KeptPromise[] = [
  {
    promise: 'one copy costs no trigger',
    file: schema,
    find: '  ALTER TABLE ${table} DISABLE TRIGGER ${name};`',
    replace: '`',
    test: copies('one copy writes no row and enables no trigger'),
  },
  {
    promise: 'copies are needed by records of all accounts, not by each other',
    file: schema,
    find: 'JOIN removed_records r ON r.root_id = root)',
    replace: "JOIN holds r ON r.root_id = root AND r.state <> 'void')",
    test: copies('accounts on two nodes do not keep copies for each other'),
  },
  {
    promise: 'a set wants copies for the records of its cluster, whatever the root',
    file: schema,
    find: 'WHERE r.cluster_id = s.cluster_id))',
    replace: 'WHERE r.cluster_id = s.cluster_id AND r.id = (SELECT min(id) FROM records)))',
    test: copies('a record of another cluster wants the copies of its own cluster'),
  },
  {
    promise: 'a copy lasts as long as the last record',
    file: schema,
    find: 'ends IS DISTINCT FROM last_end',
    replace: 'FALSE',
    test: copies('a copy ends with the last record of its content'),
  },
  {
    promise: 'a copy stays while a removed record may return',
    file: schema,
    find: 'IF NOT EXISTS (SELECT 1 FROM unnest(found_roots)',
    replace: 'IF TRUE OR NOT EXISTS (SELECT 1 FROM unnest(found_roots)',
    test: copies('a copy stays, unreadable, while a removed record may return'),
  },
  {
    promise: 'public copies end when the last record becomes private',
    file: schema,
    find: "differing('multihash, codec, owner, root_id, fetch_id, cluster_id, expires_at')",
    replace: "differing('multihash, codec, cluster_id, expires_at')",
    test: copies('a content that becomes private ends its public copies'),
  },
  {
    promise: 'nobody reads a copy before the catalogue has it',
    file: 'adapters/postgres/postgres-copies.ts',
    find: 'stagedRootId, dag, ends: 0 }',
    replace: 'stagedRootId, dag, ends: null }',
    test: copies('a copy that nobody wants any more is not taken'),
  },
  {
    promise: 'transactions lock the copies of their contents in one order',
    file: schema,
    find: 'USING (multihash, codec, owner) ORDER BY multihash, codec, owner, node FOR UPDATE OF c',
    replace: 'USING (multihash, codec, owner) ORDER BY multihash DESC FOR UPDATE OF c',
    test: copies('locks the copies of several contents in one order'),
  },
  {
    promise: 'a set ends only when all nodes name the same',
    file: 'adapters/postgres/copy-sets.ts',
    find: '...(agreed ? [] : wanted)',
    replace: '...(agreed ? wanted : [])',
    test: copies('both sets are wanted until all nodes name the same'),
  },
  {
    promise: 'a node of the version before keeps copies as they are',
    file: 'adapters/postgres/copy-sets.ts',
    find: 'if (all.includes(null) || ',
    replace: 'if (',
    test: copies('a node of the version before lets no set change'),
  },
  {
    promise: 'an unknown node in a set refuses the start',
    file: 'adapters/postgres/copy-sets.ts',
    find: 'if (unknown === undefined) continue',
    replace: 'if (unknown !== undefined) continue',
    test: copies('refuses a set with a node that never joined'),
  },
  {
    promise: 'a walk over earlier content goes on where it ended',
    file: 'adapters/postgres/postgres-copies.ts',
    find: '[walk.place, STEP]',
    replace: '[0, STEP]',
    test: copies('a walk wants copies of earlier content, and goes on'),
  },
  {
    promise: 'reads of a copy count for the accounts of its content',
    file: 'src/catalogue/rules/egress-rules.ts',
    find: 'AND root_id IS NOT NULL${ROOTS_OF_COPIES}',
    replace: 'AND root_id IS NOT NULL',
    test: copies('reads of a copy count for the accounts of its content'),
  },
  {
    promise: 'a response goes on with another node when its node ends',
    file: 'adapters/fleet/fleet-member.ts',
    find: '[id, ...places.map(place => place.id)]',
    replace: '[id]',
    test: {
      file: 'test/adapters/fleet/copies.test.ts',
      name: 'a response goes on with another node when its node ends',
    },
  },
  {
    promise: 'a silent node delays a block by a second',
    file: 'adapters/fleet/place-source.ts',
    find: 'cancel = this.#clock.after(PATIENCE_MS, ask)',
    replace: '',
    test: {
      file: 'test/adapters/fleet/place-source.test.ts',
      name: 'asks the next node after a second without a block',
    },
  },
  {
    promise: 'surplus that is wanted again stays',
    file: schema,
    find: "ARRAY['surplus', 'going'] ELSE",
    replace: "ARRAY['going'] ELSE",
    test: copies('a copy that no set wants becomes surplus, and is wanted again'),
  },
  {
    promise: 'a copy goes only after the others have said that they have it',
    file: 'adapters/postgres/freed-copies.ts',
    find: 'sound.some(place => place.node',
    replace: 'true || sound.some(place => place.node',
    test: freed('stays if a node that is counted on lacks it'),
  },
  {
    promise: 'two surplus copies do not count on each other',
    file: 'adapters/postgres/freed-copies.ts',
    find: "AND copies.state IN ('have', 'surplus') AND nodes.state",
    replace: "AND copies.state <> 'wanted' AND nodes.state",
    test: freed('two that count on each other do not both go'),
  },
  {
    promise: 'a copy counts after its node has compared it',
    file: 'adapters/postgres/freed-copies.ts',
    find: "AND copies.run = nodes.run || ' ' ||",
    replace: "AND copies.run <> nodes.run || 'x' ||",
    test: freed('a copy does not count before its node has compared it'),
  },
  {
    promise: 'an answer of an earlier run of a node counts no more',
    file: 'adapters/postgres/freed-copies.ts',
    find: ' && place.run === run',
    replace: '',
    test: freed('stays if a node has started again since the mark'),
  },
  {
    promise: 'nothing is freed while a node has content to offer',
    file: 'adapters/postgres/freed-copies.ts',
    find: 'AND place IS NULL AND NOT EXISTS (',
    replace: 'AND place IS NULL AND NOT EXISTS (SELECT 1 WHERE FALSE) OR EXISTS (',
    test: freed('nothing goes while a node has content to offer'),
  },
  {
    promise: 'nothing is freed while the sets differ',
    file: 'adapters/postgres/freed-copies.ts',
    find: 'FROM copy_walk WHERE agreed AND',
    replace: 'FROM copy_walk WHERE',
    test: freed('nothing goes while the nodes name different sets'),
  },
  {
    promise: 'a damaged copy is not freed',
    file: 'adapters/postgres/postgres-reconciliation.ts',
    find: "AND state IN ('have', 'surplus', 'going')`",
    replace: "AND state = 'have'`",
    test: freed('a damaged copy is repaired, and not freed before'),
  },
  {
    promise: 'a copy that an old directory lacks is wanted again',
    file: 'adapters/postgres/postgres-copies.ts',
    find: 'if (root === undefined) await this.#lost(copy)',
    replace: 'if (root === undefined) ids.sound.push(copy.id)',
    test: freed('a copy that the directory lacks is wanted again'),
  },
  {
    promise: 'a record of a lost node stays pinned on a copy',
    file: 'adapters/postgres/postgres-copies.ts',
    find: 'if (moved.length > 0) await moveRecords',
    replace: 'if (moved.length < 0) await moveRecords',
    test: freed('stay pinned on a node that has a copy'),
  },
  {
    promise: 'a removed record of a lost node returns from a copy',
    file: 'adapters/postgres/moved-records.ts',
    find: "const TABLES = ['records', 'removed_records'] as const",
    replace: "const TABLES: ReadonlyArray<'records' | 'removed_records'> = ['records']",
    test: freed('a removed record returns from a copy after its node was lost'),
  },
  {
    promise: 'damage is first repaired from a copy',
    file: 'src/wiring/upkeep-work-module.ts',
    find: 'return member === null ? own : [',
    replace: 'return member !== null ? own : [',
    test: {
      file: 'test/adapters/fleet/copies.test.ts',
      name: 'a copy repairs a damaged block, and the record stays pinned',
    },
  },
]

/** Promises about copies in a fleet. Their tests need PostgreSQL. */
export const copyPromises: readonly KeptPromise[] = hasPostgres ? promises : []
