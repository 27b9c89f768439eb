import type { Broken } from './content-wrong.ts'

/** Those that are wrong in one thing each, and words of the rules that find it out. */
export const wrongReconciliations: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'lets go of every hold that it does not know',
    ({ reconciliation, unhold }) => ({
      reconciliation: {
        ...reconciliation,
        holds: async step => {
          if (step.mend) await unhold('of the host program')
          return reconciliation.holds(step)
        },
      },
    }),
    [/^holds that nobody wants/],
  ],
  [
    'looks where it is to mend',
    ({ reconciliation }) => ({
      reconciliation: {
        ...reconciliation,
        holds: step => reconciliation.holds({ ...step, mend: false }),
        roots: step => reconciliation.roots({ ...step, mend: false }),
        records: step => reconciliation.records({ ...step, mend: false }),
      },
    }),
    [/^holds that nobody wants/, /^roots that nothing holds/, /^records that nothing keeps/],
  ],
  [
    'mends where it is to look',
    ({ reconciliation }) => ({
      reconciliation: { ...reconciliation, records: step => reconciliation.records({ ...step, mend: true }) },
    }),
    [/^records that nothing keeps/],
  ],
  [
    'looks for content only where new content of the cluster goes',
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
    [/^a record whose content is on another backend/],
  ],
  [
    'has one record of a lost root wait, and forgets the others',
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
    [/^all records of a root/],
  ],
  [
    'takes fetches that somebody waits for for unwanted',
    ({ reconciliation }) => ({
      reconciliation: {
        ...reconciliation,
        fetches: async step => ({ ...(await reconciliation.fetches(step)), unwanted: [1, 2, 3] }),
      },
    }),
    [/^fetches that no record waits for/],
  ],
  [
    'sorts files by their names',
    ({ files }) => ({
      files: {
        ...files,
        page: async (rootId, offset, limit) => {
          const all = (await files.page(rootId, 0, 100)).toSorted((a, b) => (a.path < b.path ? -1 : 1))
          return all.slice(offset, offset + limit)
        },
      },
    }),
    [/^the files below a root/],
  ],
]
