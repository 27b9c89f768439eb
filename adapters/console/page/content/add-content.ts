import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { useSession } from '../session.ts'
import { notify } from '../widgets/notices.ts'
import { shownBytes } from '../widgets/shown-values.ts'
import { wordsFor } from '../words.ts'
import { type Dropped, readChosen, readChosenFolder, readDropped } from './dropped.ts'
import { ANYWHERE, ReadersField, TargetFields, targetOptions } from './target-fields.ts'
import { UrlForm } from './url-uploads-form.ts' // feature: url-uploads

/** Takes files that are dropped anywhere on the page, also while the card is folded. */
export function AddContent({ isShown }: { isShown: boolean }) {
  const { uploads, user } = useSession()
  const [isOver, setOver] = useState(false)
  const [target, setTarget] = useState(ANYWHERE)
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const add = ({ sources, empty }: Dropped): void => {
    if (sources.length > 0) uploads.add(sources, targetOptions(target))
    for (const name of empty) notify({ text: `${name} has no files in it`, isError: true })
  }
  const dropped = useRef<(transfer: DataTransfer) => Promise<void>>(undefined)
  dropped.current = async transfer => {
    try {
      add(await readDropped(transfer))
    } catch (error) {
      notify({ text: `Some files could not be read: ${wordsFor(error)}`, isError: true })
    }
  }
  // While this card is shown, the user can drop files anywhere on the page.
  useLayoutEffect(() => {
    const over = (): void => setOver(true)
    const leave = ({ relatedTarget }: DragEvent): void => {
      if (relatedTarget === null) setOver(false)
    }
    const drop = ({ dataTransfer }: DragEvent): void => {
      setOver(false)
      if (dataTransfer !== null) void dropped.current?.(dataTransfer)
    }
    addEventListener('dragenter', over)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragenter', over)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [])
  const chosen =
    (read: (files: Iterable<File>) => Dropped) =>
    (event: Event & { currentTarget: HTMLInputElement }): void => {
      const input = event.currentTarget
      add(read(input.files ?? []))
      // Otherwise choosing the same file again would not fire an event.
      input.value = ''
    }
  const { maxFileBytes } = user.planDetails
  return html`<section id="add-card" class="card" aria-labelledby="add-title" hidden=${!isShown && !isOver}>
    <h2 id="add-title">Add files</h2>
    <div class=${isOver ? 'drop over' : 'drop'}>
      <p>Drop files and folders here, or</p>
      <div class="buttons">
        <button id="choose-files" class="primary" onClick=${() => files.current?.click()}>Choose files</button>
        <button onClick=${() => folder.current?.click()}>Choose a folder</button>
      </div>
      <p class="hint">
        Pinned content is public unless you make it private: anyone with its CID can read it.
        ${maxFileBytes !== null && ` A file may have up to ${shownBytes(maxFileBytes)}.`}
      </p>
      <input ref=${files} type="file" multiple hidden aria-label="Files" onChange=${chosen(readChosen)} />
      <input ref=${folder} type="file" webkitdirectory hidden aria-label="Folder" onChange=${chosen(readChosenFolder)} />
    </div>
    <${ReadersField} target=${target} onChange=${setTarget} />
    ${/* feature: url-uploads */ html`<${UrlForm} target=${targetOptions(target)} />`}
    <details>
      <summary>Cluster and expiry</summary>
      <${TargetFields} target=${target} onChange=${setTarget} />
    </details>
  </section>`
}
