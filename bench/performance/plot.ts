export interface Series {
  name: string
  points: ReadonlyArray<{ x: number; y: number }>
}

export interface Plot {
  title: string
  /** Labels of the axes. An axis is logarithmic if `isLog` says so, else it begins at zero. */
  x: string
  y: string
  isLog?: { x?: boolean; y?: boolean }
  series: readonly Series[]
}

const WIDTH = 720
const HEIGHT = 380
const LEFT = 78
const RIGHT = 190
const TOP = 44
const BOTTOM = 56
/** Colours of the lines. Each line also has its own mark, for readers who do not see colours. */
const COLOURS = ['#0b6e99', '#c2410c', '#4d7c0f', '#7e22ce', '#334155', '#b91c1c', '#0f766e', '#a16207']

/** Returns SVG that is readable in light and dark themes. @throws Error for a plot without points */
export function svgOf({ title, x, y, isLog = {}, series }: Plot): string {
  const points = series.flatMap(({ points }) => points)
  if (points.length === 0) throw new Error(`${title} has no points`)
  const across = axis(
    points.map(point => point.x),
    isLog.x === true,
  )
  const upwards = axis(
    points.map(point => point.y),
    isLog.y === true,
  )
  const atX = (value: number): number => round(LEFT + across.place(value) * (WIDTH - LEFT - RIGHT))
  const atY = (value: number): number => round(HEIGHT - BOTTOM - upwards.place(value) * (HEIGHT - TOP - BOTTOM))
  const right = WIDTH - RIGHT
  const bottom = HEIGHT - BOTTOM
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="24" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...upwards.ticks.map(
      tick =>
        `<path d="M${LEFT} ${atY(tick)}H${right}" stroke="#dddddd"/><text x="${LEFT - 8}" y="${atY(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ),
    ...across.ticks.map(
      tick =>
        `<path d="M${atX(tick)} ${bottom}v5" stroke="#555555"/><text x="${atX(tick)}" y="${bottom + 19}" text-anchor="middle">${short(tick)}</text>`,
    ),
    `<path d="M${LEFT} ${TOP}V${bottom}H${right}" fill="none" stroke="#555555"/>`,
    `<text x="${(LEFT + right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(x)}</text>`,
    `<text transform="translate(18 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(y)}</text>`,
    ...series.flatMap(({ name, points }, index) => {
      const colour = COLOURS[index % COLOURS.length]
      const line = points.map(point => `${atX(point.x)},${atY(point.y)}`).join(' ')
      const legend = TOP + 8 + index * 20
      return [
        `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...points.map(point => mark(index, atX(point.x), atY(point.y), colour)),
        mark(index, right + 16, legend, colour),
        `<text x="${right + 28}" y="${legend + 4}">${escaped(name)}</text>`,
      ]
    }),
    '</svg>',
    '',
  ].join('\n')
}

interface Axis {
  ticks: number[]
  /** Returns the position of a value on the axis, from 0 to 1. */
  place(value: number): number
}

function axis(values: readonly number[], isLog: boolean): Axis {
  const highest = Math.max(...values)
  if (!isLog) {
    const step = niceStep(highest / 5)
    const end = Math.max(step, Math.ceil(highest / step) * step)
    const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step)
    return { ticks, place: value => value / end }
  }
  const from = Math.floor(Math.log10(Math.max(Math.min(...values), Number.MIN_VALUE)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(highest)))
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
  return { ticks, place: value => (Math.log10(value) - from) / (to - from) }
}

/** Returns the smallest 1, 2 or 5 times a power of ten that is not below `least`. */
function niceStep(least: number): number {
  if (!(least > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find(step => step * power >= least) ?? 10) * power
}

function mark(index: number, x: number, y: number, colour: string | undefined): string {
  const shape = [
    `<circle cx="${x}" cy="${y}" r="4"`,
    `<rect x="${x - 4}" y="${y - 4}" width="8" height="8"`,
    `<path d="M${x} ${y - 5}l5 9h-10z"`,
    `<path d="M${x} ${y - 5}l5 5l-5 5l-5 -5z"`,
  ][index % 4]
  return `${shape} fill="${colour}"/>`
}

function short(value: number): string {
  if (value >= 1e9) return `${round(value / 1e9)} G`
  if (value >= 1e6) return `${round(value / 1e6)} M`
  if (value >= 1e4) return `${round(value / 1e3)} k`
  return String(round(value, 4))
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
