import type { EngineStats } from '../../src/index.ts'
import { type Families, type Sample, single } from './exposition.ts'

export function writeStats(out: Families, stats: EngineStats): void {
  const by = <T>(name: string, of: Readonly<Record<string, T>>, amountOf: (item: T) => number): Sample[] =>
    Object.entries(of).map(([key, item]) => ({ labels: { [name]: key }, value: amountOf(item) }))
  const states = {
    pins: by('status', stats.pins, count => count),
    roots: by('state', stats.roots, ({ count }) => count),
    blocks: by('state', stats.blocks, ({ count }) => count),
    blockBytes: by('state', stats.blocks, ({ bytes }) => bytes),
  }
  out.gauge('holdfast_accounts', 'Accounts.', single(stats.accounts))
  out.gauge('holdfast_pins', 'Records by status.', states.pins)
  const accounted = 'Bytes that count against quotas, over all accounts.'
  out.gauge('holdfast_accounted_bytes', accounted, single(stats.accountedBytes))
  const kept = 'Bytes that only deleted records name, in their undo period, over all accounts.'
  out.gauge('holdfast_kept_bytes', kept, single(stats.keptBytes))
  out.gauge('holdfast_roots', 'DAGs by state.', states.roots)
  out.gauge('holdfast_blocks', 'Distinct blocks by state.', states.blocks)
  out.gauge('holdfast_block_bytes', 'Bytes of distinct blocks by state.', states.blockBytes)
  const garbage = 'Blocks that wait for garbage collection, counted up to 100,000.'
  out.gauge('holdfast_garbage_blocks', garbage, single(stats.garbageBlocks))
  const oldest = 'Request time of the oldest fetch in progress; 0 if there is none.'
  out.gauge('holdfast_oldest_fetch_timestamp_seconds', oldest, single((stats.oldestFetchAt ?? 0) / 1_000))
  writeDisks(out, stats)
  const { blocks, damaged, endedAt, behindMs } = stats.verification
  out.gauge('holdfast_verified_blocks', 'Blocks checked in the current verification, or the last one.', single(blocks))
  out.gauge('holdfast_damaged_blocks', 'Damaged blocks among them.', single(damaged))
  const ended = 'End of the last verification, or else the first start.'
  out.gauge('holdfast_verification_ended_seconds', ended, single((endedAt ?? 0) / 1_000))
  const behind = 'Time by which the verification is behind its schedule.'
  out.gauge('holdfast_verification_behind_seconds', behind, single(behindMs / 1_000))
  if (stats.backups !== null) {
    const newest = 'Time of the newest backup below `backupRoots`; 0 if there is none.'
    out.gauge('holdfast_newest_backup_timestamp_seconds', newest, single((stats.backups.newestAt ?? 0) / 1_000))
  }
  out.gauge('holdfast_peers', 'Connected peers.', single(stats.peers))
  if (stats.publicNetwork !== null) {
    const up = '1 if the node has peers of the public network.'
    out.gauge('holdfast_public_network_up', up, single(Number(stats.publicNetwork === 'connected')))
  }
  if (stats.announcements !== null) writeAnnouncements(out, stats.announcements)
  if (stats.clusters.length > 0) writeClusters(out, stats)
  if (stats.copies !== null) {
    out.gauge(
      'holdfast_copies',
      'Copies of content of other nodes, by state.',
      by('state', stats.copies.states, n => n),
    )
    const since = 'Since when the oldest copy waits to be made or repaired; 0 if none does.'
    out.gauge('holdfast_oldest_copy_timestamp_seconds', since, single((stats.copies.waitsSince ?? 0) / 1_000))
  }
  if (stats.clockSkewMs === null) return
  const skew = 'Seconds by which the clock is ahead of the PostgreSQL database.'
  out.gauge('holdfast_clock_skew_seconds', skew, single(stats.clockSkewMs / 1_000))
}

function writeAnnouncements(
  out: Families,
  { waiting, due, oldestAt }: NonNullable<EngineStats['announcements']>,
): void {
  out.gauge('holdfast_announcements_waiting', 'New DAGs that wait for their first announcement.', single(waiting))
  const renewals = 'Provider records that are due for renewal, counted up to 10,000.'
  out.gauge('holdfast_announcements_due', renewals, single(due))
  const oldest = 'Announcement time of the oldest provider record; 0 if there is none.'
  out.gauge('holdfast_oldest_announcement_timestamp_seconds', oldest, single((oldestAt ?? 0) / 1_000))
}

/** Labels each backend with the name of its first cluster. */
function writeClusters(out: Families, { clusters }: EngineStats): void {
  type Health = EngineStats['clusters'][number]
  const of = (health: Health): { cluster: string } => ({ cluster: health.clusters[0] ?? '' })
  const each = (amountOf: (health: Health) => number | null, labels: object = {}): Sample[] =>
    clusters.flatMap(health => {
      const value = amountOf(health)
      return value === null ? [] : { labels: { ...of(health), ...labels }, value }
    })
  const eachPeer = (amountOf: (peer: Health['peers'][number]) => number | null): Sample[] =>
    clusters.flatMap(health =>
      health.peers.flatMap(peer => {
        const value = amountOf(peer)
        return value === null ? [] : { labels: { ...of(health), peer: peer.peer }, value }
      }),
    )
  const up = each(({ lookedAt, error }) => (lookedAt === null ? null : Number(error === null)))
  out.gauge('holdfast_cluster_up', '1 if the last request to a remote cluster succeeded.', up)
  const peers = eachPeer(({ error }) => Number(error === null))
  out.gauge('holdfast_cluster_peer_up', '1 if a peer of a remote cluster is usable.', peers)
  const room = eachPeer(({ freeBytes }) => freeBytes)
  out.gauge('holdfast_cluster_free_bytes', 'Free bytes of a peer of a remote cluster.', room)
  const waiting = [...each(({ pins }) => pins, { what: 'pin' }), ...each(({ unpins }) => unpins, { what: 'unpin' })]
  const pending = 'DAGs that a remote cluster must still pin or unpin, each counted up to 10,000.'
  out.gauge('holdfast_cluster_waiting', pending, waiting)
  const since = 'Since when the oldest DAG waits for a remote cluster; 0 if none does.'
  const oldest = each(health => (health.since ?? 0) / 1_000)
  out.gauge('holdfast_cluster_oldest_waiting_timestamp_seconds', since, oldest)
}

function writeDisks(out: Families, { disks, databaseBytes }: EngineStats): void {
  const of = (amountOf: (disk: EngineStats['disks'][number]) => number): Sample[] =>
    disks.map(disk => ({ labels: { backend: String(disk.backend) }, value: amountOf(disk) }))
  const sizes = { free: of(disk => disk.freeBytes), reserve: of(disk => disk.reserveBytes) }
  out.gauge('holdfast_database_bytes', 'Size of the database, small blocks included.', single(databaseBytes))
  out.gauge('holdfast_disk_free_bytes', 'Free bytes of the disks with blocks.', sizes.free)
  out.gauge('holdfast_disk_reserve_bytes', 'Bytes that new content must leave free.', sizes.reserve)
  const full = of(disk => Number(disk.isFull))
  out.gauge('holdfast_disk_full', '1 if the disk is too full for new content.', full)
}
