import { formatBytes } from './printed-text.ts'
import { steadyTime } from './real-time.ts'

export interface ProgressTarget {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

export interface ProgressBarOptions {
  /** Default: standard error. */
  target?: ProgressTarget
  now?: () => number
  /** Default: as a number of bytes. */
  format?: (amount: number) => string
}

const REDRAW_MS = 100
const CELLS = 24
const CLEAR_LINE = '\r\x1b[K'

/** One line that is redrawn. Draws nothing if the target is not a terminal. */
export class ProgressBar {
  readonly #label: string
  readonly #total: number | null
  readonly #target: ProgressTarget
  readonly #now: () => number
  readonly #startedAt: number
  readonly #format: (amount: number) => string
  #drawnAt = Number.NEGATIVE_INFINITY

  /** @param total bytes of the whole operation; null if unknown */
  constructor(label: string, total: number | null, options: ProgressBarOptions = {}) {
    this.#label = label
    this.#total = total
    this.#target = options.target ?? process.stderr
    this.#now = options.now ?? steadyTime
    this.#startedAt = this.#now()
    this.#format = options.format ?? formatBytes
  }

  /** Redraws the line, at most ten times a second. @param bytes bytes done so far */
  update(bytes: number): void {
    const now = this.#now()
    if (this.#target.isTTY !== true || now - this.#drawnAt < REDRAW_MS) return
    this.#drawnAt = now
    const line = this.#line(bytes, (now - this.#startedAt) / 1_000)
    this.#target.write(`${CLEAR_LINE}${line.slice(0, (this.#target.columns ?? 80) - 1)}`)
  }

  end(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#target.write(CLEAR_LINE)
  }

  #line(bytes: number, seconds: number): string {
    const rate = seconds > 0 ? bytes / seconds : 0
    const speed = rate > 0 ? `  ${this.#format(Math.round(rate))}/s` : ''
    if (this.#total === null) return `${this.#label}  ${this.#format(bytes)}${speed}`
    const share = this.#total === 0 ? 1 : Math.min(bytes / this.#total, 1)
    const filled = Math.round(share * CELLS)
    const bar = '█'.repeat(filled) + '░'.repeat(CELLS - filled)
    const left = rate > 0 && share < 1 ? `  ${formatSeconds((this.#total - bytes) / rate)} left` : ''
    const percent = `${Math.floor(share * 100)} %`.padStart(5)
    return `${bar} ${percent}  ${this.#format(bytes)} of ${this.#format(this.#total)}${speed}${left}  ${this.#label}`
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`
}
