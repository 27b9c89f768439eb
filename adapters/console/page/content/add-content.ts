import { useRef, useState } from 'preact/hooks'
import { html } from '../html.ts'
import { useSession } from '../session.ts'
import { formatBytes } from '../widgets/format.ts'
import { notify } from '../widgets/notices.ts'
import { wordsOf } from '../words.ts'
import { type Dropped, readChosen, readChosenFolder, readDropped } from './dropped.ts'
import { ANYWHERE, TargetFields, targetOptions } from './target-fields.ts'

/** Where files and folders are dropped, or chosen. */
export function AddContent() {
  const { uploads, user } = useSession()
  const [isOver, setOver] = useState(false)
  const [target, setTarget] = useState(ANYWHERE)
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const add = ({ sources, empty }: Dropped): void => {
    if (sources.length > 0) uploads.add(sources, targetOptions(target))
    for (const name of empty) notify({ text: `${name} has no files in it`, isError: true })
  }
  const drop = async (event: DragEvent): Promise<void> => {
    event.preventDefault()
    setOver(false)
    if (event.dataTransfer === null) return
    try {
      add(await readDropped(event.dataTransfer))
    } catch (error) {
      notify({ text: `Not all of it could be read: ${wordsOf(error)}`, isError: true })
    }
  }
  const over = (event: DragEvent): void => {
    event.preventDefault()
    setOver(true)
  }
  const chosen =
    (read: (files: Iterable<File>) => Dropped) =>
    (event: Event & { currentTarget: HTMLInputElement }): void => {
      const input = event.currentTarget
      add(read(input.files ?? []))
      // The same may be chosen once more.
      input.value = ''
    }
  const { maxFileBytes } = user.planDetails
  return html`<section class="card" aria-labelledby="add-title">
    <h2 id="add-title">Add files</h2>
    <div class=${isOver ? 'drop over' : 'drop'} onDragOver=${over} onDragEnter=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <p>Drop files and folders here, or</p>
      <div class="buttons">
        <button class="primary" onClick=${() => files.current?.click()}>Choose files</button>
        <button onClick=${() => folder.current?.click()}>Choose a folder</button>
      </div>
      <p class="hint">
        Everything pinned is public to whoever has its CID.
        ${maxFileBytes !== null && ` A file may have up to ${formatBytes(maxFileBytes)}.`}
      </p>
      <input ref=${files} type="file" multiple hidden aria-label="Files" onChange=${chosen(readChosen)} />
      <input ref=${folder} type="file" webkitdirectory hidden aria-label="Folder" onChange=${chosen(readChosenFolder)} />
    </div>
    <details>
      <summary>Where, and for how long</summary>
      <${TargetFields} target=${target} onChange=${setTarget} />
    </details>
  </section>`
}
