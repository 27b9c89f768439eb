import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'

/** A section of a view: its name in the URL, its label and its component. */
export type Section = readonly [id: string, words: string, view: ComponentType]

/** Shows the section that the URL names, by default the first. */
export function Sections({
  place,
  title,
  sections: [first, ...others],
  section = first[0],
}: {
  /** Name of the view in the URL. */
  place: string
  title: string
  sections: readonly [Section, ...Section[]]
  section: string | undefined
}) {
  const all = [first, ...others]
  const [, , Shown] = all.find(([id]) => id === section) ?? first
  const links = all.map(
    ([id, words]) =>
      html`<a href=${routeTo([place, id])} aria-current=${id === section ? 'page' : undefined}>${words}</a>`,
  )
  const bar = useRef<HTMLElement>(null)
  // On a phone, the links are wider than the page.
  useLayoutEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [section])
  return html`<div class="stack">
    <h1>${title}</h1>
    <nav ref=${bar} class="row sections" aria-label=${title}>${links}</nav>
    <${Shown} />
  </div>`
}
