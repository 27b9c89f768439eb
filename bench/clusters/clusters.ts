import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BackendDefinition } from '../../src/domain/cluster.ts'
import { AUTH, findIpfsCluster, IpfsCluster } from '../../test/support/ipfs-cluster.ts'
import type { Bench, Cost, Measurement, RunOptions } from '../bench.ts'
import { rotated, settleDisk } from '../contest.ts'
import { findProgram } from '../programs.ts'
import { type KuboService, startKubo } from '../services/kubo.ts'
import { UsageWatch } from '../usage.ts'
import { ipfsClusterItself, kuboItself, REPLICATION } from './direct.ts'
import type { Keeper } from './keeper.ts'
import { startNode } from './node.ts'
import { type Done, SIZES, type Stored, WORKS } from './works.ts'

const ROUNDS = 3

/** The systems to compare. The caller opens and closes them. */
class Field {
  readonly keepers: Keeper[] = []
  readonly #close: Array<() => Promise<void>> = []

  async open(options: RunOptions): Promise<void> {
    const isWanted = (...names: string[]): boolean =>
      options.subjects === undefined || names.some(name => options.subjects?.includes(name))
    if (isWanted('embedded')) await this.#node(options, 'embedded', null, [])
    const kubo = findProgram('kubo')
    if (kubo !== null && isWanted('on-kubo', 'kubo')) await this.#openKubo(options, kubo, isWanted)
    const programs = findIpfsCluster()
    if (programs !== null && isWanted('on-ipfs-cluster', 'ipfs-cluster')) {
      options.progress('starting an IPFS Cluster of three peers')
      const cluster = await IpfsCluster.start(programs, join(options.dir, 'peers'), 3, { isSynced: true })
      this.#close.push(() => cluster.stop())
      await this.#openIpfsCluster(options, cluster, isWanted)
    }
  }

  async close(): Promise<void> {
    for (const close of this.#close.toReversed()) await close()
  }

  async #openKubo(options: RunOptions, program: string, isWanted: (name: string) => boolean): Promise<void> {
    options.progress('starting a Kubo')
    const dir = join(options.dir, 'kubo')
    await mkdir(dir)
    const kubo: KuboService = await startKubo(program, dir, { isSynced: true })
    this.#close.push(() => kubo.stop())
    const [gateway = ''] = kubo.read?.('').url.split('/ipfs/') ?? []
    const [, , host, , port] = kubo.rpc.split('/')
    const backend = { type: 'kubo', api: `http://${host}:${port}`, gateways: [gateway] } as const
    if (isWanted('on-kubo')) await this.#node(options, 'on-kubo', backend, kubo.pids)
    if (isWanted('kubo')) this.keepers.push(kuboItself(kubo))
  }

  async #openIpfsCluster(
    options: RunOptions,
    cluster: IpfsCluster,
    isWanted: (name: string) => boolean,
  ): Promise<void> {
    const authFile = join(options.dir, 'peers.auth')
    await writeFile(authFile, AUTH, { mode: 0o600 })
    const gateways = cluster.peers.map(({ gateway }) => gateway)
    const factors = { replicationMin: REPLICATION.min, replicationMax: REPLICATION.max }
    const backend = { type: 'ipfs-cluster', api: cluster.first.api, authFile, gateways, ...factors } as const
    const pids = cluster.peers.flatMap(peer => peer.pids)
    if (isWanted('on-ipfs-cluster')) await this.#node(options, 'on-ipfs-cluster', backend, pids)
    if (isWanted('ipfs-cluster')) this.keepers.push(ipfsClusterItself(cluster))
  }

  async #node(
    { dir, progress }: RunOptions,
    name: string,
    backend: BackendDefinition | null,
    theirs: readonly number[],
  ): Promise<void> {
    progress(`starting ${name}`)
    const node = await startNode(join(dir, name), name, backend, theirs)
    this.#close.push(() => node.stop())
    this.keepers.push(node)
  }
}

/** Figures of all rounds, in the order of their first appearance. */
class Figures {
  readonly #all = new Map<string, Measurement>()

  note(measured: Omit<Measurement, 'values' | 'costs'>, value: number, cost?: Cost): void {
    const key = `${measured.subject} ${measured.metric}`
    const known = this.#all.get(key) ?? { ...measured, values: [] }
    this.#all.set(key, known)
    known.values.push(value)
    if (cost !== undefined) known.costs = [...(known.costs ?? []), cost]
  }

  get measurements(): Measurement[] {
    return [...this.#all.values()]
  }
}

async function runRound(keepers: readonly Keeper[], figures: Figures, options: RunOptions, label: string) {
  for (const keeper of keepers) {
    const stored: Stored = { small: [], file: '', fileBytes: 0 }
    for (const work of WORKS) {
      options.signal.throwIfAborted()
      options.progress(`${label}: ${keeper.name}, ${work.name}`)
      if (work.name === 'read-file') await keeper.forget()
      await settleDisk()
      const [own, theirs] = [UsageWatch.start(keeper.pids), UsageWatch.start(keeper.theirs)]
      const done = await work.run(keeper, stored, options)
      note(figures, keeper.name, work, done, { own, theirs })
    }
  }
}

function note(
  figures: Figures,
  subject: string,
  { name, unit }: { name: string; unit: string },
  { amount, seconds, pinnedSeconds }: Done,
  { own, theirs }: Record<'own' | 'theirs', UsageWatch | null>,
): void {
  const [ours, others] = [own?.usage(), theirs?.usage()]
  const cost = ours === undefined ? undefined : { ...ours, amount, clientShare: 0 }
  const rate = { subject, unit, better: 'higher' } as const
  const less = { subject, better: 'lower' } as const
  figures.note({ ...rate, metric: name }, amount / seconds, cost)
  if (pinnedSeconds !== undefined) figures.note({ ...rate, metric: `${name}-pinned` }, amount / pinnedSeconds)
  for (const [whose, usage] of Object.entries({ ours, theirs: others })) {
    if (usage === undefined) continue
    figures.note({ ...less, metric: `${name}-cpu-${whose}`, unit: 'ms' }, (1_000 * usage.cpuSeconds) / amount)
    if (pinnedSeconds === undefined) continue
    figures.note({ ...less, metric: `${name}-written-${whose}`, unit: 'KiB' }, (1_024 * usage.writtenMiB) / amount)
  }
}

async function run(options: RunOptions): Promise<Measurement[]> {
  const field = new Field()
  try {
    await field.open(options)
    await runRound(field.keepers, new Figures(), { ...options, scale: 'tiny' }, 'warm-up')
    const figures = new Figures()
    for (let round = 0; round < options.rounds; round++) {
      await runRound(rotated(field.keepers, round), figures, options, `round ${round + 1} of ${options.rounds}`)
    }
    return figures.measurements
  } finally {
    await field.close()
  }
}

/** Compares a cluster on the server itself, on a Kubo and on an IPFS Cluster, and the latter two without Holdfast. */
export const clusters: Bench = {
  name: 'clusters',
  rounds: ROUNDS,
  minutes: 5,
  describe: scale => {
    const { oneByOne, atOnce, fileBytes, files } = SIZES[scale]
    return (
      `${oneByOne} uploads of 4 KiB one by one, ${atOnce} uploads 16 at once, a file of ${fileBytes / 1024 ** 2} MiB, and a ` +
      `folder of ${files.toLocaleString('en')} files. Times until answered and until pinned, and of reads. ` +
      'On the embedded backend, Kubo and IPFS Cluster, and on these two directly'
    )
  },
  targets: [],
  run,
}
