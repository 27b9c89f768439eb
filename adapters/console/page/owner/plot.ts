import type { HistorySample } from '../../../client/index.ts'
import { html } from '../markup.ts'

export interface PlotSeries {
  name: string
  tone: 'first' | 'second' | 'third'
  read: (sample: HistorySample) => number
}

export interface PlotProps {
  title: string
  /** The plot in words, for screen readers. */
  summary: string
  samples: readonly HistorySample[]
  stepMs: number
  /** Maximum number of samples that fit into the plot. */
  most: number
  /** Label of the left end of the time axis. */
  back: string
  /** Unit of time after the highest value, such as `/ min`. Empty if the values are totals. */
  each: string
  /** Stacked in this order, from the bottom to the top. */
  series: readonly PlotSeries[]
  format: (value: number) => string
}

const WIDTH = 600
const HEIGHT = 100

/** Shows the newest sample at the right. */
export function Plot({ title, summary, samples, stepMs, most, back, each, series, format }: PlotProps) {
  const top = Math.max(...samples.map(sample => series.reduce((sum, { read }) => sum + read(sample), 0)), 0)
  const end = Date.parse(samples.at(-1)?.at ?? '') + stepMs
  const xOf = (sample: HistorySample): number => WIDTH * (1 - (end - Date.parse(sample.at)) / (most * stepMs))
  const base = new Map<HistorySample, number>()
  const paths = series.map(one => ({
    ...one,
    path: pathOf(samples, one, { xOf, base, scale: HEIGHT / (top || 1), most }),
  }))
  return html`<figure class="plot">
    <figcaption><strong>${title}</strong> <span class="under">${summary}</span></figcaption>
    <svg role="img" aria-label=${`${title}: ${summary}`} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
      ${paths.map(({ name, tone, path }) => html`<path key=${name} class=${tone} d=${path} />`)}
    </svg>
    <p class="axis"><span>${back}</span><span>${top > 0 && `at most ${format(top)} ${each}`}</span><span>now</span></p>
    ${
      series.length > 1 &&
      html`<p class="legend">${series.map(({ name, tone }) => html`<span key=${name} class=${tone}>${name}</span> `)}</p>`
    }
  </figure>`
}

interface Drawing {
  xOf: (sample: HistorySample) => number
  /** Height of the series drawn so far, at each sample. The next series is stacked on top. */
  base: Map<HistorySample, number>
  scale: number
  most: number
}

/** Draws one bar per sample, as wide as the sample's share of the time axis. */
function pathOf(samples: readonly HistorySample[], { read }: PlotSeries, { xOf, base, scale, most }: Drawing): string {
  const width = WIDTH / most
  return samples
    .map(sample => {
      const below = base.get(sample) ?? 0
      const value = read(sample)
      base.set(sample, below + value)
      if (value <= 0) return ''
      return `M${xOf(sample).toFixed(1)} ${(HEIGHT - below * scale).toFixed(1)}h${width.toFixed(1)}v${(-value * scale).toFixed(1)}h-${width.toFixed(1)}z`
    })
    .join('')
}
