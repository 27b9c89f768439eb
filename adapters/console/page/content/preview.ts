import { visibleText } from '../../../../src/domain/byte-text.ts'
import { html } from '../markup.ts'
import { copyText } from '../widgets/copy-button.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem } from '../widgets/field.ts'
import { useLoad } from '../widgets/use-load.ts'
import { gatewayHead } from './gateway-content.ts'

type Kind = 'image' | 'video' | 'audio' | 'document' | 'text'

const KINDS: ReadonlyArray<readonly [type: RegExp, kind: Kind]> = [
  [/^image\//, 'image'],
  [/^video\/|^application\/ogg$/, 'video'],
  [/^audio\//, 'audio'],
  [/^application\/pdf$/, 'document'],
  [/^text\/(plain|css|javascript)$|^application\/json$/, 'text'],
]
/** Maximum size of content that the browser has to load as a whole. */
export const MOST_BYTES = 20_000_000
const STREAMED: readonly (Kind | undefined)[] = ['video', 'audio']

/** Returns how to show a media type, or undefined without a preview. */
export function previewKind(mediaType: string): Kind | undefined {
  return KINDS.find(([type]) => type.test(mediaType))?.[1]
}

/** Shows a file in a frame of the gateway's origin, without scripts, a referrer or access to this page. */
export function Preview({ url, name }: { url: string; name: string }) {
  const { value: head, error } = useLoad(signal => gatewayHead(url, signal), [url])
  if (error !== null) return html`<${FieldProblem} text=${error} />`
  if (head === undefined) return html`<p class="empty" role="status">Loading…</p>`
  const kind = previewKind(head.type)
  const words = head.isFolder
    ? 'This is a folder. Open its page to see the files.'
    : kind === undefined
      ? `No preview for ${head.type}.`
      : !STREAMED.includes(kind) && head.bytes > MOST_BYTES
        ? 'Too large for a preview.'
        : null
  if (words !== null) return html`<p class="quiet">${words}</p>`
  // A frame would show an image in its corner. An image runs no script.
  if (kind === 'image')
    return html`<img class="preview image" src=${url} alt=${visibleText(name)} referrerpolicy="no-referrer" />`
  // Chromium shows no PDF in a sandbox. A response of this type runs no script.
  const sandbox = kind === 'document' ? undefined : ''
  return html`<iframe class=${`preview ${kind}`} title=${`Preview of ${visibleText(name)}`} src=${url} sandbox=${sandbox}
    referrerpolicy="no-referrer" loading="lazy"></iframe>`
}

export interface PreviewDialogProps {
  url: string
  name: string
  onClose: () => void
}

export function PreviewDialog({ url, name, onClose }: PreviewDialogProps) {
  const download = new URL(url)
  download.searchParams.set('download', 'true')
  return html`<${Dialog} title=${visibleText(name)} onClose=${onClose} isWide=${true}>
    <${Preview} url=${url} name=${name} />
    <div class="buttons">
      <a class="button" href=${url} target="_blank" rel="noopener">Open</a>
      <a class="button" href=${download.href} rel="noopener">Download</a>
      <button type="button" onClick=${() => copyText(url, 'link')}>Copy link</button>
    </div>
  </${Dialog}>`
}
