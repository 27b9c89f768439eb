import { encode } from 'uqr'
import { html } from '../markup.ts'

/** Draws the code dark on light in every theme, because scanners need that contrast. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return html`<svg class="qr" role="img" aria-label=${label} viewBox=${`0 0 ${size} ${size}`} shape-rendering="crispEdges">
    <path fill="#ffffff" d=${`M0 0h${size}v${size}h-${size}z`} />
    <path fill="#000000" d=${path} />
  </svg>`
}
