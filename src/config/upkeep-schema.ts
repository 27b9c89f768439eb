import Type from 'typebox'
import { defaulted, group, seconds } from './schema-parts.ts'

/** What a configuration says of what a node does by itself. */
export const upkeep = {
  gc: group(
    {
      graceSeconds: defaulted(
        Type.Number({
          minimum: 0,
          default: 60,
          description: 'How long content that nothing needs any more is kept.',
        }),
      ),
      intervalSeconds: seconds(30, 'How often the collector looks for such content.'),
    },
    { description: 'When content that nothing needs goes.' },
  ),
  verify: group(
    {
      everyDays: defaulted(
        Type.Number({
          minimum: 0,
          maximum: 3_650,
          default: 30,
          description:
            'Days between two rounds in which every block is read and checked; `0` for none. What is damaged is moved to `quarantine/` in the data directory, beside `blocks/`, and comes again from another cluster or, where there is a network, from there: its pins are `pinning` until then.',
        }),
      ),
      bytesPerSecond: defaulted(
        Type.Integer({
          minimum: 1_024,
          default: 2_097_152,
          description: 'How fast such a round reads at most; small blocks count 4,096 bytes.',
        }),
      ),
    },
    {
      description: 'Blocks are read and checked by themselves, slowly; what is damaged is put aside and fetched again.',
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
            'Hours from one check of a cluster that is kept elsewhere to the next; half of its `localGraceSeconds` where that is shorter. `0` turns checks off, and is refused beside such a cluster. What is missing there is sent again if this node has it, what nothing here needs is let go of, unless that is more than one in a hundred.',
        }),
      ),
      sample: defaulted(
        Type.Integer({
          minimum: 0,
          maximum: 1_000,
          default: 4,
          description: 'DAGs of each such cluster that a look reads back whole.',
        }),
      ),
    },
    { description: 'Clusters that are kept elsewhere are looked into from time to time.' },
  ),
  disk: group(
    {
      reserveBytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'Bytes that new content leaves free on each disk, so that there is room to delete with.',
          defaultText: 'the lesser of 67108864 (64 MiB) and 5 % of the file system',
        }),
      ),
    },
    { description: 'Room on the disks.' },
  ),
}
