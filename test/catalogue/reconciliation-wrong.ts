import type { Broken } from './content-wrong.ts'

/** Reconciliations with one fault each, and the rules that must detect it. */
export const wrongReconciliations: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'releases foreign holds',
    ({ reconciliation, unhold }) => ({
      reconciliation: {
        ...reconciliation,
        holds: async step => {
          if (step.mend) await unhold('of the host program')
          return reconciliation.holds(step)
        },
      },
    }),
    [/^releases unneeded holds/],
  ],
  [
    'reports without repairing',
    ({ reconciliation }) => ({
      reconciliation: {
        ...reconciliation,
        holds: step => reconciliation.holds({ ...step, mend: false }),
        roots: step => reconciliation.roots({ ...step, mend: false }),
        records: step => reconciliation.records({ ...step, mend: false }),
      },
    }),
    [/^releases unneeded holds/, /^drops exactly the/, /^holds unheld records/],
  ],
  [
    'repairs when only asked to report',
    ({ reconciliation }) => ({
      reconciliation: { ...reconciliation, records: step => reconciliation.records({ ...step, mend: true }) },
    }),
    [/^holds unheld records/],
  ],
  [
    'looks for content only on the cluster’s current backend',
    ({ reconciliation }) => ({
      reconciliation: {
        ...reconciliation,
        records: async step => {
          const found = await reconciliation.records(step)
          if (!step.homes.has('near') || step.homes.get('near') === 0) return found
          return { ...found, findings: found.findings.map(finding => ({ ...finding, kind: 'record-lost' as const })) }
        },
      },
    }),
    [/^accepts a record/],
  ],
  [
    'sets only one record of a lost root to wait',
    ({ reconciliation, records }) => ({
      reconciliation: {
        ...reconciliation,
        requeue: async root => {
          const other = await records.newestOf({
            ...{ accountId: 'two', hasExpiration: false, now: root.now },
            dag: { codec: 0x55, multihash: Buffer.concat([Buffer.of(0x12, 0x20), Buffer.alloc(32, 'a')]) },
          })
          const changes = await reconciliation.requeue(root)
          return changes.filter(({ record }) => record.id !== other?.id)
        },
      },
    }),
    [/^sets all records/],
  ],
  [
    'reports a fetch that a record waits for',
    ({ reconciliation }) => ({
      reconciliation: {
        ...reconciliation,
        fetches: async step => ({ ...(await reconciliation.fetches(step)), unwanted: [1, 2, 3] }),
      },
    }),
    [/^finds fetches that/],
  ],
  [
    'sorts files by name',
    ({ files }) => ({
      files: {
        ...files,
        page: async (rootId, offset, limit) => {
          const all = (await files.page(rootId, 0, 100)).toSorted((a, b) => (a.path < b.path ? -1 : 1))
          return all.slice(offset, offset + limit)
        },
      },
    }),
    [/^lists the files/],
  ],
]
