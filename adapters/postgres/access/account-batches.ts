/** Bounds of one batch. A single larger call is a batch of its own. */
const MOST_ITEMS = 256
const MOST_BYTES = 1024 ** 2
/** Batches that run at once, besides those that wait for a locked account. The second one is at least as large. */
const LANES = 2
/** Batches that wait for a locked account at once. Each waits on its own connection. */
const WAITING_LANES = 6

/** Batches of an account that wait for its lock at once, after one found it locked. */
const PATIENT_BATCHES = 8
/** Accounts that were found locked, of which the latest are known. */
const MOST_CONTENDED = 64

/** The outcome of a call in a batch: `aside` if the account is locked, or the call needs a batch of its own. */
export type Outcome<Output> = { value: Output } | { error: unknown } | 'aside'

/** Removes further calls of the same account from the queue, and adds them to the running batch. */
export type Later<Input> = () => readonly Input[]

/** The size of a call, for the bounds of a batch. */
export interface CallSize {
  items: number
  bytes: number
}

interface Call<Input, Output> {
  account: string
  input: Input
  size: CallSize
  resolve: (value: Output) => void
  reject: (error: unknown) => void
}

/**
 * Runs the calls of all accounts in batches: calls that arrive while batches run share the next batch. Accounts take
 * turns. The calls of one account run in the order of their arrival, in one batch at a time.
 */
export class AccountBatches<Input, Output> {
  readonly #run: (inputs: readonly Input[], later: Later<Input> | null) => Promise<Array<Outcome<Output>>>
  readonly #queued = new Map<string, Array<Call<Input, Output>>>()
  /** Accounts with a call in a running batch. Their queued calls wait for its end. */
  readonly #busy = new Set<string>()
  /** Calls of one account each, for the waiting lanes. */
  readonly #aside: Array<Array<Call<Input, Output>>> = []
  /** Accounts that were found locked, and how many of their next batches wait for the lock at once. */
  readonly #contended = new Map<string, number>()
  #running = 0
  /** Calls in the running batches, besides those that wait for a locked account. */
  #runningCalls = 0
  #waiting = 0
  #isScheduled = false

  /**
   * @param run runs a batch and returns the outcome of each input. If it throws, each call runs again by itself. If
   * `later` is null, it sets calls of locked accounts aside. Otherwise all inputs are of one account, and it waits for
   * the lock. Then it takes the calls that have arrived meanwhile, and never sets a single input aside.
   */
  constructor(run: (inputs: readonly Input[], later: Later<Input> | null) => Promise<Array<Outcome<Output>>>) {
    this.#run = run
  }

  add(account: string, input: Input, size: CallSize): Promise<Output> {
    return new Promise((resolve, reject) => {
      const call = { account, input, size, resolve, reject }
      const queued = this.#queued.get(account)
      if (queued === undefined) this.#queued.set(account, [call])
      else queued.push(call)
      this.#schedule()
    })
  }

  /** Starts the next batch after the current turn of the loop, so that calls of one turn share it. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#runContended()
      if (this.#running >= LANES || !this.#isWorthwhile()) return
      const calls = this.#take()
      if (calls.length > 0) void this.#runLane(calls)
    })
  }

  /** Hands the calls of contended accounts to the waiting lanes, without trying their locks first. */
  #runContended(): void {
    for (const [account, left] of this.#contended) {
      if (this.#busy.has(account) || !this.#queued.has(account)) continue
      const calls: Array<Call<Input, Output>> = []
      this.#takeLater(account, calls)
      this.#busy.add(account)
      this.#aside.push(calls)
      if (left > 1) this.#contended.set(account, left - 1)
      else this.#contended.delete(account)
    }
    this.#runAside()
  }

  /** Notes that an account was found locked: another node probably uploads for it. */
  #contend(account: string): void {
    this.#contended.delete(account)
    this.#contended.set(account, PATIENT_BATCHES)
    const [oldest = account] = this.#contended.keys()
    if (this.#contended.size > MOST_CONTENDED) this.#contended.delete(oldest)
  }

  /** Returns whether the next batch is as large as the running one. A smaller one waits for more calls. */
  #isWorthwhile(): boolean {
    let calls = 0
    for (const [account, queued] of this.#queued) {
      if (calls >= this.#runningCalls) return true
      if (!this.#busy.has(account)) calls += queued.length
    }
    return calls >= this.#runningCalls
  }

  /** Removes the calls of the next batch from the queue: one call of each account, then the next one of each. */
  #take(): Array<Call<Input, Output>> {
    const taken: Array<Call<Input, Output>> = []
    const room = roomBeside(taken)
    let turns = [...this.#queued.keys()].filter(account => !this.#busy.has(account))
    while (turns.length > 0) {
      const next: string[] = []
      for (const account of turns) {
        const [call] = this.#queued.get(account) ?? []
        if (call === undefined) continue
        if (!takesRoom(room, call) && taken.length > 0) return taken
        this.#dequeue(call)
        taken.push(call)
        next.push(account)
      }
      turns = next
    }
    return taken
  }

  /** Adds the queued calls of an account to its batch. Returns their inputs. */
  #takeLater(account: string, batch: Array<Call<Input, Output>>): Input[] {
    const room = roomBeside(batch)
    const later: Array<Call<Input, Output>> = []
    for (let [call] = this.#queued.get(account) ?? []; call !== undefined; [call] = this.#queued.get(account) ?? []) {
      if (!takesRoom(room, call) && batch.length + later.length > 0) break
      this.#dequeue(call)
      later.push(call)
    }
    batch.push(...later)
    return later.map(({ input }) => input)
  }

  /** Removes the first call of an account, and moves the account to the end of the queue. */
  #dequeue({ account }: Call<Input, Output>): void {
    const queued = this.#queued.get(account) ?? []
    queued.shift()
    this.#queued.delete(account)
    if (queued.length > 0) this.#queued.set(account, queued)
  }

  async #runLane(calls: ReadonlyArray<Call<Input, Output>>): Promise<void> {
    this.#running++
    this.#runningCalls += calls.length
    const accounts = new Set(calls.map(({ account }) => account))
    for (const account of accounts) this.#busy.add(account)
    this.#schedule()
    const aside = Map.groupBy(await this.#settle(calls, null), ({ account }) => account)
    this.#running--
    this.#runningCalls -= calls.length
    for (const account of accounts) {
      const left = aside.get(account)
      if (left === undefined) {
        this.#busy.delete(account)
        continue
      }
      this.#aside.push(left)
      this.#contend(account)
    }
    this.#runAside()
    this.#schedule()
  }

  #runAside(): void {
    while (this.#waiting < WAITING_LANES) {
      const calls = this.#aside.shift()
      if (calls === undefined) return
      void this.#runWaiting(calls)
    }
  }

  /** Runs calls of one account that were set aside, and later ones of this account. It stays busy meanwhile. */
  async #runWaiting(calls: Array<Call<Input, Output>>): Promise<void> {
    const [{ account } = { account: '' }] = calls
    this.#waiting++
    await this.#settleEach(await this.#settle(calls, () => this.#takeLater(account, calls)))
    this.#waiting--
    this.#busy.delete(account)
    this.#runAside()
    this.#schedule()
  }

  async #settleEach(calls: ReadonlyArray<Call<Input, Output>>): Promise<void> {
    for (const call of calls) await this.#settle([call], () => [])
  }

  /** Runs a batch and settles its calls. Returns the calls that were set aside. */
  async #settle(
    calls: ReadonlyArray<Call<Input, Output>>,
    later: Later<Input> | null,
  ): Promise<Array<Call<Input, Output>>> {
    if (calls.length === 0) return []
    let outcomes: Array<Outcome<Output>>
    try {
      const inputs = calls.map(({ input }) => input)
      outcomes = await this.#run(inputs, later)
    } catch (error) {
      if (calls.length === 1) for (const { reject } of calls) reject(error)
      // One call may have failed all of them. Accounts run concurrently, and the calls of one account in order.
      else await Promise.all([...Map.groupBy(calls, one => one.account).values()].map(own => this.#settleEach(own)))
      return []
    }
    return calls.filter((call, i) => {
      const outcome = outcomes[i] ?? 'aside'
      if (outcome === 'aside') return true
      if ('value' in outcome) call.resolve(outcome.value)
      else call.reject(outcome.error)
      return false
    })
  }
}

function roomBeside(batch: ReadonlyArray<{ size: CallSize }>): CallSize {
  const room = { items: MOST_ITEMS, bytes: MOST_BYTES }
  for (const call of batch) takesRoom(room, call)
  return room
}

/** Returns whether there was room for a call. Subtracts its size. */
function takesRoom(room: CallSize, { size: { items, bytes } }: { size: CallSize }): boolean {
  room.items -= items
  room.bytes -= bytes
  return room.items >= 0 && room.bytes >= 0
}
