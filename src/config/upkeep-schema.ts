import Type from 'typebox'
import { defaulted, group, seconds } from './schema-parts.ts'

export const upkeep = {
  gc: group(
    {
      graceSeconds: defaulted(
        Type.Number({
          minimum: 0,
          default: 60,
          description: 'How long unused content is kept before garbage collection.',
        }),
      ),
      intervalSeconds: seconds(30, 'Interval of garbage collection.'),
    },
    { description: 'Garbage collection of unused content.' },
  ),
  // feature: bulk
  bulk: group(
    {
      undoSeconds: defaulted(
        Type.Number({
          minimum: 0,
          maximum: 604_800,
          default: 600,
          description:
            'How long a job that deletes records can be undone. Until then the content stays on the disk, but counts against no quota, except during a backup. An account keeps at most its quota so, or its newest job: older undo periods end early. `0` for no undo.',
        }),
      ),
    },
    { description: 'Jobs that change many records.' },
  ),
  // feature: audit
  audit: group(
    {
      keepDays: defaulted(
        Type.Integer({
          minimum: 1,
          maximum: 3_650,
          default: 365,
          description: 'Days that the audit log keeps an entry.',
        }),
      ),
      maxEntries: defaulted(
        Type.Integer({
          minimum: 100,
          maximum: 1_000_000,
          default: 100_000,
          description:
            'Entries that the audit log keeps of owners. It keeps as many of other accounts, and as many of strangers.',
        }),
      ),
    },
    { description: 'The audit log.' },
  ),
  // end
  verify: group(
    {
      everyDays: defaulted(
        Type.Number({
          minimum: 0,
          maximum: 3_650,
          default: 30,
          description:
            'Days between two verifications of all blocks; `0` for none. Damaged blocks move to `quarantine/` in the data directory, and the node fetches them again from another cluster or the network. Until then their pins are `pinning`.',
        }),
      ),
      bytesPerSecond: Type.Optional(
        Type.Integer({
          minimum: 1_024,
          description:
            'Bytes per second that a verification reads at most; each block counts 4,096 more. Without it, the rate follows the content, and reading takes at most a quarter of the time.',
          defaultText: 'a rate for a verification within half of `everyDays`, at least 2097152',
        }),
      ),
    },
    {
      description: 'Verification of all blocks in the background. Damaged blocks are quarantined and fetched again.',
    },
  ),
  reconcile: group(
    {
      everyHours: defaulted(
        Type.Number({
          minimum: 0,
          maximum: 8_760,
          default: 12,
          description:
            'Hours between checks of a remote cluster, or half of its `localGraceSeconds` if that is shorter. `0` turns checks off, without remote clusters only. The check sends missing content again if this node has it. It unpins unused content, unless that is more than one in a hundred.',
        }),
      ),
      sample: defaulted(
        Type.Integer({
          minimum: 0,
          maximum: 1_000,
          default: 4,
          description: 'DAGs of each remote cluster that a check reads back whole.',
        }),
      ),
    },
    { description: 'Regular checks of remote clusters.' },
  ),
  disk: group(
    {
      reserveBytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'Bytes to keep free on each disk, because deletes need room as well.',
          defaultText: 'the lesser of 67108864 (64 MiB) and 5 % of the file system',
        }),
      ),
    },
    { description: 'Disk space.' },
  ),
}
