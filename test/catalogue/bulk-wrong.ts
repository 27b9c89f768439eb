import type { BulkChanges, BulkEdit, UndoPeriods } from '../../src/catalogue/index.ts'
import type { Broken } from './content-wrong.ts'

function withoutPrefix({ rename }: BulkEdit): BulkEdit {
  return rename === undefined ? {} : { rename: { ...rename, prefix: '' } }
}

type Bulk = BulkChanges & UndoPeriods
type Change = (bulk: Bulk) => Partial<Bulk>

function broken(change: Change): Broken {
  return ({ bulk }) => ({ bulk: { ...bulk, ...change(bulk) } })
}

/** Changes of many records with one fault each, and the rules that must detect it. */
export const wrongBulk: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'renames without the prefix',
    broken(({ edit }) => ({ edit: step => edit({ ...step, edit: { ...step.edit, ...withoutPrefix(step.edit) } }) })),
    [/^renames many/, /^edits the records of a step once/],
  ],
  [
    'sets a later expiry than the edit says',
    broken(({ edit }) => ({
      edit: step => {
        const { expiresAt } = step.edit
        return edit(typeof expiresAt === 'number' ? { ...step, edit: { expiresAt: expiresAt + 1 } } : step)
      },
    })),
    [/^changes the expiry of many/],
  ],
  [
    'moves records from every cluster',
    broken(({ edit }) => ({
      edit: step => {
        const { cluster } = step.edit
        return edit(
          cluster === undefined ? step : { ...step, edit: { cluster: { ...cluster, from: ['near', 'far'] } } },
        )
      },
    })),
    [/^moves many records/],
  ],
  [
    'repeats a step of edits',
    broken(({ edit }) => ({ edit: async step => (await edit(step)) ?? [] })),
    [/^edits the records of a step once/],
  ],
  [
    'lists the oldest job first',
    broken(({ list }) => ({ list: async account => (await list(account)).toReversed() })),
    [/^removes the selected/],
  ],
  [
    'removes records of other accounts with a job',
    ({ bulk, records }) => ({
      bulk: {
        ...bulk,
        remove: async step => {
          if (step.ids.includes('theirs')) await records.discard('theirs')
          return bulk.remove(step)
        },
      },
    }),
    [/^removes the selected/],
  ],
  [
    'gives a restored record another name',
    ({ bulk, records }) => ({
      bulk: {
        ...bulk,
        restore: async step => {
          const rows = await bulk.restore(step)
          for (const { id } of rows ?? []) {
            await records.rename({ accountId: 'one', id, name: 'restored', meta: undefined, now: step.now })
          }
          return rows
        },
      },
    }),
    [/^restores removed records/, /^random play/],
  ],
  [
    'releases removed content before the undo period ends',
    broken(bulk => ({ purge: (id, now) => bulk.purge(id, now + 1) })),
    [/^keeps removed content/],
  ],
  ['never releases removed content', broken(() => ({ purge: async () => false })), [/^keeps removed/, /^shows a job/]],
  [
    'keeps removed content without an undo period',
    broken(bulk => ({ add: change => bulk.add({ ...change, undoMs: change.undoMs || 100 }) })),
    [/^removes content at once/],
  ],
  [
    'undoes a job without checking the plan',
    broken(bulk => ({
      undo: request => bulk.undo({ ...request, limits: { maxPins: null, maxStorageBytes: null, maxQueuedPins: null } }),
    })),
    [/^refuses an undo/],
  ],
  [
    'restores more records than the plan allows',
    broken(bulk => ({
      restore: step => bulk.restore({ ...step, limits: { maxPins: null, maxStorageBytes: null, maxQueuedPins: null } }),
    })),
    [/^restores neither/],
  ],
  [
    'repeats a step',
    broken(bulk => ({ remove: async step => (await bulk.remove(step)) ?? [] })),
    [/^carries out no step/],
  ],
  [
    'restores a record without content as queued',
    ({ bulk, records }) => ({
      bulk,
      records: {
        ...records,
        get: async id => {
          const row = await records.get(id)
          return row?.status === 'failed' ? { ...row, status: 'queued' } : row
        },
      },
    }),
    [/^restores a record without/],
  ],
  [
    'retries a job without a pause',
    broken(bulk => ({ retry: (id, _, error) => bulk.retry(id, 0, error) })),
    [/^shows a job/],
  ],
  [
    'accepts any number of jobs',
    broken(bulk => {
      let made = 0
      return {
        add: change =>
          made++ < 99 || change.accountId !== 'one' ? bulk.add(change) : bulk.add({ ...change, accountId: 'two' }),
      }
    }),
    [/^limits the changes/],
  ],
  [
    'counts no kept bytes',
    broken(() => ({ keptBytes: async () => 0 })),
    [/^random play 2/, /^random play 3/, /^random play 4/],
  ],
  [
    'counts no released content while deletion is stopped',
    ({ bulk, stops }) => ({ stops: { ...stops, undeletedBytes: accountId => bulk.keptBytes(accountId) } }),
    [/^counts released content/, /^random play/],
  ],
  [
    'goes on counting released content',
    ({ stops }) => ({ stops: { ...stops, end: async () => undefined } }),
    [/^counts released content/, /^random play/],
  ],
  [
    'ends all undo periods of an account at once',
    broken(bulk => ({
      endExcess: async request => {
        const ended = await bulk.endExcess(request)
        if (ended !== null) await bulk.endPeriods({ accountId: request.accountId, why: 'quota', limit: 100 })
        return ended
      },
    })),
    [/^ends one undo period after the other/],
  ],
  [
    'ends an undo that has begun',
    broken(bulk => {
      const undoing: string[] = []
      return {
        undo: async request => {
          undoing.push(request.name)
          return bulk.undo(request)
        },
        endForRoom: async request => {
          const ended = await bulk.endForRoom(request)
          const [name = ''] = undoing
          return ended ?? (await bulk.get('one', name)) ?? null
        },
      }
    }),
    [/^never ends an undo/],
  ],
  [
    'tells another period than the one that it ended',
    broken(bulk => ({
      endForRoom: async request => {
        const ended = await bulk.endForRoom(request)
        return ended === null ? null : { ...ended, name: `${ended.name}?` }
      },
    })),
    [/^random play/],
  ],
]
