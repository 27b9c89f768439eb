/** Labels of a sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** One value of a metric. */
export interface Sample {
  labels: Labels
  value: number
  /** Name of the sample if it differs from that of the metric. */
  metricName?: string
}

/** A metric with its current values, in the format of `prom-client`. */
export interface MetricFamily {
  /** Ends with the unit, such as `_seconds`. */
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
  values: readonly Sample[]
}

interface Distribution {
  labels: Labels
  /** For each bound of the histogram, the number of values up to the bound. */
  buckets: readonly number[]
  seconds: number
  count: number
}

export class Families {
  readonly all: MetricFamily[] = []

  counter(name: string, help: string, values: readonly Sample[]): void {
    this.all.push({ name, help, type: 'counter', values })
  }

  gauge(name: string, help: string, values: readonly Sample[]): void {
    this.all.push({ name, help, type: 'gauge', values })
  }

  /** @param values the quantiles; each sample must have the label `quantile` */
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

/** Formats metrics in the text format of Prometheus, version 0.0.4. */
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

export function single(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
