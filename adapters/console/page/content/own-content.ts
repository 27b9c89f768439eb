import { useEffect, useState } from 'preact/hooks'
import { visibleText } from '../../../../src/domain/byte-text.ts'
import type { HoldfastClient, Status } from '../../../client/index.ts'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { Card } from '../widgets/card.ts'
import { FieldProblem } from '../widgets/field.ts'
import { saveAs } from '../widgets/save-as.ts'
import { useAction, useLoad } from '../widgets/use-load.ts'
import { PinFiles } from './pin-files.ts'
import { MOST_BYTES, previewKind } from './preview.ts'

/** Shows private content, which no gateway serves. The page reads it from the API with the credential. */
export function OwnContents({ status: { cid, name, type } }: { status: Status }) {
  const { client } = useSession()
  const { run, isBusy, error } = useAction()
  const save = (place: string, path: string) =>
    run(async () =>
      saveAs(
        await new Response((await client.content.file(place)).stream).blob(),
        path.slice(path.lastIndexOf('/') + 1),
      ),
    )
  if (type === 'directory') {
    const saveTar = () =>
      run(async () => saveAs(await new Response(await client.content.archive(cid, 'tar')).blob(), `${name}.tar`))
    return html`<div class="stack">
      <div class="buttons"><button disabled=${isBusy} onClick=${saveTar}>Download (TAR)</button></div>
      <${FieldProblem} text=${error} />
      <${PinFiles} cid=${cid} url=${null} onFile=${(path: string) => save(`${cid}/${path}`, path)} />
    </div>`
  }
  return html`<${Card} title="Preview" error=${error}>
    <${OwnFile} cid=${cid} name=${name} />
    <div class="buttons"><button disabled=${isBusy} onClick=${() => save(cid, name)}>Download</button></div>
  </${Card}>`
}

function OwnFile({ cid, name }: { cid: string; name: string }) {
  const { client } = useSession()
  const { value, error } = useLoad(signal => previewOf(client, cid, signal), [client, cid])
  const url = useBlobUrl(value?.kind === 'image' ? value.blob : null)
  if (error !== null) return html`<${FieldProblem} text=${error} />`
  if (value === undefined) return html`<p class="empty" role="status">Loading…</p>`
  if (value.text !== null) return html`<pre class="preview text" tabindex="0">${value.text}</pre>`
  if (url !== null) return html`<img class="preview image" src=${url} alt=${visibleText(name)} />`
  return html`<p class="quiet">No preview. Download it instead.</p>`
}

interface OwnPreview {
  kind: ReturnType<typeof previewKind>
  blob: Blob
  /** Null for anything but text. */
  text: string | null
}

/** Reads an image or a text. Scripts of a document would run in this origin, so there is no preview of documents. */
async function previewOf(client: HoldfastClient, cid: string, signal: AbortSignal): Promise<OwnPreview> {
  const { size, type, stream } = await client.content.file(cid, { signal })
  const [bare = ''] = type.split(';', 1)
  const kind = previewKind(bare)
  if ((kind !== 'image' && kind !== 'text') || (size ?? Number.POSITIVE_INFINITY) > MOST_BYTES) {
    await stream.cancel()
    return { kind: undefined, blob: new Blob(), text: null }
  }
  const blob = new Blob([await new Response(stream).blob()], { type: bare })
  return { kind, blob, text: kind === 'text' ? await blob.text() : null }
}

/** Returns a URL of the bytes, which ends with the component. */
function useBlobUrl(blob: Blob | null): string | null {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (blob === null) return setUrl(null)
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}
