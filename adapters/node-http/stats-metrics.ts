import type { EngineStats } from '../../src/index.ts'
import { type Families, type Sample, single } from './exposition.ts'

/** What an engine holds. */
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
  const accounted = 'What counts against quotas, over all accounts.'
  out.gauge('holdfast_accounted_bytes', accounted, single(stats.accountedBytes))
  out.gauge('holdfast_roots', 'DAGs by state.', states.roots)
  out.gauge('holdfast_blocks', 'Distinct blocks by state.', states.blocks)
  out.gauge('holdfast_block_bytes', 'Their bytes.', states.blockBytes)
  const garbage = 'Blocks that wait for the collector, counted up to 100,000.'
  out.gauge('holdfast_garbage_blocks', garbage, single(stats.garbageBlocks))
  const oldest = 'When the oldest content was asked for that is still tried to be fetched; 0 if none is.'
  out.gauge('holdfast_oldest_fetch_timestamp_seconds', oldest, single((stats.oldestFetchAt ?? 0) / 1_000))
  writeDisks(out, stats)
  const { blocks, damaged, endedAt } = stats.verification
  out.gauge('holdfast_verified_blocks', 'Checked in the round of verification under way, or the last.', single(blocks))
  out.gauge('holdfast_damaged_blocks', 'Damaged ones among them.', single(damaged))
  const ended = 'When the last round of verification ended, or the first start was.'
  out.gauge('holdfast_verification_ended_seconds', ended, single((endedAt ?? 0) / 1_000))
  out.gauge('holdfast_peers', 'Peers connected.', single(stats.peers))
  if (stats.publicNetwork !== null) {
    const up = 'Whether the public network has peers for this node.'
    out.gauge('holdfast_public_network_up', up, single(Number(stats.publicNetwork === 'connected')))
  }
  if (stats.clusters.length > 0) writeClusters(out, stats)
  if (stats.clockSkewMs === null) return
  const skew = 'By how much the clock is ahead of that of the PostgreSQL database.'
  out.gauge('holdfast_clock_skew_seconds', skew, single(stats.clockSkewMs / 1_000))
}

/** Places that keep clusters elsewhere, each by the first of its clusters. */
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
  out.gauge('holdfast_cluster_up', 'Whether a cluster elsewhere could be asked when it was last looked at.', up)
  const peers = eachPeer(({ error }) => Number(error === null))
  out.gauge('holdfast_cluster_peer_up', 'Whether a peer of a cluster elsewhere is of use.', peers)
  const room = eachPeer(({ freeBytes }) => freeBytes)
  out.gauge('holdfast_cluster_free_bytes', 'Room at a peer of a cluster elsewhere.', room)
  const waiting = [...each(({ pins }) => pins, { what: 'pin' }), ...each(({ unpins }) => unpins, { what: 'unpin' })]
  const told = 'DAGs that a cluster elsewhere has still to get or to let go of, each counted up to 10,000.'
  out.gauge('holdfast_cluster_waiting', told, waiting)
  const since = 'Since when the oldest DAG waits to get to a cluster elsewhere; 0 if none does.'
  const oldest = each(health => (health.since ?? 0) / 1_000)
  out.gauge('holdfast_cluster_oldest_waiting_timestamp_seconds', since, oldest)
}

function writeDisks(out: Families, { disks, databaseBytes }: EngineStats): void {
  const of = (amountOf: (disk: EngineStats['disks'][number]) => number): Sample[] =>
    disks.map(disk => ({ labels: { backend: String(disk.backend) }, value: amountOf(disk) }))
  const sizes = { free: of(disk => disk.freeBytes), reserve: of(disk => disk.reserveBytes) }
  out.gauge('holdfast_database_bytes', 'Size of the database, small blocks included.', single(databaseBytes))
  out.gauge('holdfast_disk_free_bytes', 'Room on the disks of blocks.', sizes.free)
  out.gauge('holdfast_disk_reserve_bytes', 'Room that new content leaves.', sizes.reserve)
  const full = of(disk => Number(disk.isFull))
  out.gauge('holdfast_disk_full', 'Whether new content is refused.', full)
}
