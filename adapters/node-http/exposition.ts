/** What tells the numbers of one metric apart. */
export type Labels = Readonly<Record<string, string>>

/** One number of a metric. */
export interface Sample {
  labels: Labels
  value: number
  /** Where it is not the metric's own, as of the parts of a histogram. */
  metricName?: string
}

/** A metric with its numbers as they are now, in the shape that `prom-client` gives and takes, too. */
export interface MetricFamily {
  /** With its unit at the end, such as `_seconds`. */
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
  values: readonly Sample[]
}

interface Distribution {
  labels: Labels
  /** How many were at most each bound. */
  buckets: readonly number[]
  /** The sum of all. */
  seconds: number
  count: number
}

/** Gathers metrics. */
export class Families {
  readonly all: MetricFamily[] = []

  counter(name: string, help: string, values: readonly Sample[]): void {
    this.all.push({ name, help, type: 'counter', values })
  }

  gauge(name: string, help: string, values: readonly Sample[]): void {
    this.all.push({ name, help, type: 'gauge', values })
  }

  /** @param values with the label `quantile` */
  summary(name: string, help: string, values: readonly Sample[], total: { sum: number; count: number }): void {
    const parts = Object.entries(total).map(([part, value]) => ({ metricName: `${name}_${part}`, labels: {}, value }))
    this.all.push({ name, help, type: 'summary', values: [...values, ...parts] })
  }

  histogram(name: string, help: string, bounds: readonly number[], distributions: readonly Distribution[]): void {
    const values = distributions.flatMap(({ labels, buckets, seconds, count }) => {
      const bucket = (le: string, value: number): Sample => ({
        metricName: `${name}_bucket`,
        labels: { ...labels, le },
        value,
      })
      return [
        ...bounds.map((bound, index) => bucket(String(bound), buckets[index] ?? 0)),
        bucket('+Inf', count),
        { metricName: `${name}_sum`, labels, value: seconds },
        { metricName: `${name}_count`, labels, value: count },
      ]
    })
    this.all.push({ name, help, type: 'histogram', values })
  }
}

/** Metrics in Prometheus's text format, version 0.0.4. */
export function expositionOf(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, values }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...values.map(({ metricName = name, labels, value }) => {
      const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`)
      const suffix = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
      return `${metricName}${suffix} ${Number.isFinite(value) ? value : 0}`
    }),
  ])
  return `${lines.join('\n')}\n`
}

/** One number without labels, which is what many metrics are. */
export function single(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
