import { API_FLAGS, type CommandSpec, type FlagTable } from './command-spec.ts'

/** Flags that select pins. */
const SELECTION = {
  all: { about: 'all pins' },
  cid: { value: 'CID', about: 'only pins of this content' },
  name: { value: 'TEXT', about: 'only pins with this text in their name, in any case' },
  meta: { value: 'KEY=VALUE', about: 'only pins with this metadata; may be repeated', many: true },
  type: { value: 'A,B', about: 'only file, directory or pin' },
  status: { value: 'A,B', about: 'only queued, pinning, pinned or failed' },
  expiring: { about: 'only pins that expire' },
  only: { value: 'WORD', about: 'only public or private pins' },
  after: { value: 'TIME', about: 'only pins created after this time' },
  before: { value: 'TIME', about: 'only pins created before this time (default: now)' },
  expected: {
    value: 'COUNT',
    least: 0,
    about: 'number of pins that the filters select; if it differs, nothing is changed',
  },
  'no-wait': { about: 'return at once; the server continues' },
} as const satisfies FlagTable
const IDS = { usage: '[ID...]', what: 'the id of an upload', min: 0, max: 1_000 } as const

export const JOB_COMMANDS = {
  'job delete': {
    about: 'Delete many pins at once',
    text: `Deletes many pins: up to 1,000 ids of uploads, or all pins that match every given filter. Filters without --expected
only count. For some minutes "holdfast job undo" restores the same pins.`,
    examples: ['holdfast job delete --name draft', 'holdfast job delete --name draft --expected 123'],
    words: IDS,
    flags: { ...SELECTION, ...API_FLAGS },
  },
  'job edit': {
    about: 'Rename, expire, move or hide many pins at once',
    text: `Renames many pins, sets their expiry, moves them to another cluster of the same system, or makes them private or
public. The pins are selected as for "holdfast job delete". An edit cannot be undone, and copies that others have made of
public content cannot be recalled.`,
    examples: [
      'holdfast job edit --name draft --find draft --replace final --expected 123',
      'holdfast job edit --all --timelock 2030-12-31 --expected 123',
    ],
    words: IDS,
    flags: {
      find: { value: 'TEXT', mayBeEmpty: true, about: 'text to replace in each name' },
      replace: { value: 'TEXT', mayBeEmpty: true, about: 'text in its place (default: none)' },
      prefix: { value: 'TEXT', mayBeEmpty: true, about: 'text to put before each name' },
      suffix: { value: 'TEXT', mayBeEmpty: true, about: 'text to put after each name' },
      timelock: { value: 'TIME', about: 'new expiry, such as 7d or 2030-12-31T23:59:59Z, or never' },
      cluster: { value: 'ID', about: 'new cluster' },
      visibility: { value: 'WORD', about: 'public or private' },
      ...SELECTION,
      ...API_FLAGS,
    },
  },
  'job list': {
    about: 'List the running and the latest jobs',
    text: 'Lists the jobs that run, or that ended within an hour, with their progress.',
    flags: API_FLAGS,
  },
  'job undo': {
    about: 'Restore the pins that a job deleted',
    text: 'Restores the pins that a job deleted, with their ids, names and times. Pins that have expired meanwhile stay deleted.',
    words: { usage: 'ID', what: 'the id of a job', min: 1, max: 1 },
    flags: { 'no-wait': SELECTION['no-wait'], ...API_FLAGS },
  },
} as const satisfies Record<string, CommandSpec>
