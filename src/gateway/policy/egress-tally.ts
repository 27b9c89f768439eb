import type { Clock } from '../../domain/clock.ts'

/**
 * The account that pays for a response, if a plan limits traffic, or else the root of its content. The root is null if
 * no record of this node made the content readable.
 */
export type Payment = { accountId: string } | { rootId: number | null }

/** Bytes sent under one domain for one account or root. */
export type PaidBytes = Payment & { domain: string; bytes: number }

/** Time between the reports of a thread. */
export const REPORT_MS = 1_000
/** Beyond this number of rows, bytes of further accounts and roots count for no account. */
const MOST_ROWS = 10_000
/** Domain of all hosts that the configuration does not name. */
const OTHER = 'other'

/** Sums of sent bytes, which are reported together. */
export class EgressTally {
  readonly #clock: Clock
  readonly #ms: number
  readonly #report: (rows: PaidBytes[]) => Promise<void>
  #rows = new Map<string, PaidBytes>()
  #cancel: (() => void) | null = null
  #running = 0

  /** @param report must not throw. The next interval begins when it has ended. */
  constructor(clock: Clock, ms: number, report: (rows: PaidBytes[]) => Promise<void>) {
    this.#clock = clock
    this.#ms = ms
    this.#report = report
  }

  count(sent: PaidBytes): void {
    const { domain, bytes } = sent
    if (bytes === 0) return
    const payer = 'accountId' in sent ? sent.accountId : sent.rootId
    const key = `${payer} ${domain}`
    const row = this.#rows.get(key)
    if (row !== undefined) row.bytes += bytes
    else if (payer !== null && this.#rows.size >= MOST_ROWS) this.count({ rootId: null, domain, bytes })
    else this.#rows.set(key, { ...sent })
    if (this.#running === 0) this.#schedule()
  }

  /** Reports the sums now, instead of at the end of the interval. */
  async report(): Promise<void> {
    this.#cancel?.()
    this.#cancel = null
    if (this.#rows.size === 0) return
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    this.#running++
    await this.#report(rows)
    this.#running--
    if (this.#rows.size > 0 && this.#running === 0) this.#schedule()
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.after(this.#ms, () => void this.report())
  }
}

/**
 * Returns a function that maps a `Host` header to the host of `publicUrl`, to `host` with all content hosts below it,
 * or to `other`. Clients therefore cannot add domains.
 */
export function domainsOf({
  host,
  publicUrl,
}: {
  host?: string
  publicUrl?: string
}): (header: string | undefined) => string {
  const publicHost = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname
  return header => {
    const name = header?.trim().toLowerCase().replace(/:\d+$/, '') ?? ''
    if (name === publicHost) return name
    return host !== undefined && (name === host || name.endsWith(`.${host}`)) ? host : OTHER
  }
}
