export type Labels = Readonly<Record<string, string>>

interface Distribution {
  labels: Labels
  /** How many were at most each bound. */
  buckets: readonly number[]
  /** The sum of all. */
  seconds: number
  count: number
}

/** Writes Prometheus's text format, version 0.0.4. */
export class Exposition {
  readonly #lines: string[] = []

  counter(name: string, help: string, samples: readonly [Labels, number][]): void {
    this.#metric(name, 'counter', help, samples)
  }

  gauge(name: string, help: string, samples: readonly [Labels, number][]): void {
    this.#metric(name, 'gauge', help, samples)
  }

  histogram(name: string, help: string, bounds: readonly number[], distributions: readonly Distribution[]): void {
    this.#head(name, 'histogram', help)
    for (const { labels, buckets, seconds, count } of distributions) {
      for (const [index, bound] of bounds.entries()) {
        this.#sample(`${name}_bucket`, { ...labels, le: String(bound) }, buckets[index] ?? 0)
      }
      this.#sample(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
      this.#sample(`${name}_sum`, labels, seconds)
      this.#sample(`${name}_count`, labels, count)
    }
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }

  #metric(name: string, type: string, help: string, samples: readonly [Labels, number][]): void {
    this.#head(name, type, help)
    for (const [labels, value] of samples) this.#sample(name, labels, value)
  }

  #head(name: string, type: string, help: string): void {
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`)
    const suffix = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
    this.#lines.push(`${name}${suffix} ${Number.isFinite(value) ? value : 0}`)
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
