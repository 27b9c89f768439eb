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
  /** Labels of the time axis, from the left to the middle. The right end is now. */
  back: readonly [string, string]
  /** Unit of time after the highest value, such as `/ min`. Empty if the values are totals. */
  each: string
  series: readonly PlotSeries[]
  format: (value: number) => string
}

const WIDTH = 600
const HEIGHT = 100

/** Draws a line for each series. The newest sample is at the right. */
export function Plot({ title, summary, samples, stepMs, most, back, each, series, format }: PlotProps) {
  const highest = Math.max(...samples.flatMap(sample => series.map(({ read }) => read(sample))), 0)
  const top = roundUp(highest)
  const end = Date.parse(samples.at(-1)?.at ?? '')
  const xOf = (sample: HistorySample, stepsBefore = 0): number =>
    WIDTH * (1 - ((end - Date.parse(sample.at)) / stepMs + stepsBefore) / most)
  const yOf = (value: number): number => HEIGHT * (1 - value / top)
  // The first series is drawn last, above the others.
  const lines = series.map(({ name, tone, read }) => ({
    name,
    tone,
    path: lineOf(samples, xOf, one => yOf(read(one))),
  }))
  return html`<figure class="plot">
    <figcaption><strong>${title}</strong> <span class="under">${summary}</span></figcaption>
    <div class="chart">
      <p class="values" aria-hidden="true">${[top, top / 2, 0].map(value => html`<span key=${value}>${format(value)}</span>`)}</p>
      <svg role="img" aria-label=${`${title}: ${summary}`} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        <path class="grid" d=${`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
        ${lines.toReversed().map(({ name, tone, path }) => html`<path key=${name} class=${tone} d=${path} />`)}
      </svg>
      <p class="axis"><span>${back[0]}</span><span>${back[1]}</span><span>now</span></p>
    </div>
    <p class="row legend">${series.length > 1 && series.map(({ name, tone }) => html`<span key=${name} class=${tone}>${name}</span> `)}
      ${highest > 0 && html`<span class="quiet most">at most ${format(highest)} ${each}</span>`}</p>
  </figure>`
}

/** Returns the path of a line through all samples. It begins one sample earlier, so a single sample is a line too. */
function lineOf(
  samples: readonly HistorySample[],
  xOf: (sample: HistorySample, stepsBefore?: number) => number,
  yOf: (sample: HistorySample) => number,
): string {
  const [first] = samples
  if (first === undefined) return ''
  const points = samples.map(sample => `${xOf(sample).toFixed(1)} ${yOf(sample).toFixed(1)}`)
  return `M${xOf(first, 1).toFixed(1)} ${yOf(first).toFixed(1)}L${points.join('L')}`
}

/** Returns the next value of 2, 4 or 10 times a power of ten. Half of it is a round number as well. */
function roundUp(value: number): number {
  if (value <= 2) return 2
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 2, 4].find(step => step * power >= value) ?? 10)
}
