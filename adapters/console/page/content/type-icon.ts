import type { Upload } from '../../../client/index.ts'
import { html } from '../markup.ts'

const SHEET = 'M3.5 1.5h6l3 3v10h-9Zm6 0v3h3'

/** Lines of each icon, on a square of 16 units. */
const LINES = {
  directory: 'M1.5 3.5h4l1.5 2h7.5v8h-13Z',
  pin: 'm6.5 9.5 3-3M7 5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 9M9 11l-1.5 1.5a2.8 2.8 0 0 1-4-4L5 7',
  file: SHEET,
  text: `${SHEET}M5.5 7h5m-5 2.5h5m-5 2.5h3`,
  image: 'M1.5 2.5h13v11h-13Zm0 9 3.5-4 3 3.5 2-2 4.5 4.5M10.5 5.5h.1',
  video: 'M1.5 3.5h9v9h-9Zm9 3.5 4-2.5v7l-4-2.5',
  audio: 'M5.5 12.5v-9l8-1.5v9M3.5 10.5a2 2 0 1 0 .1 0m8-1.5a2 2 0 1 0 .1 0',
  archive: 'M2.5 5.5h11v8h-11Zm-1-3h13v3h-13ZM6.5 8h3',
} as const

const ENDINGS: ReadonlyArray<readonly [RegExp, keyof typeof LINES]> = [
  [/\.(png|jpe?g|gif|webp|avif|svg|bmp|tiff?|heic)$/i, 'image'],
  [/\.(mp4|webm|mov|mkv|avi|m4v)$/i, 'video'],
  [/\.(mp3|wav|ogg|flac|m4a|opus)$/i, 'audio'],
  [/\.(zip|tar|gz|tgz|bz2|xz|zst|7z|rar|car)$/i, 'archive'],
  [/\.(txt|md|pdf|html?|css|js|ts|json|csv|xml|ya?ml|docx?|odt)$/i, 'text'],
]

/** Icon of a folder, of content pinned by CID, or of a file by the ending of its name. The text beside it says the same. */
export function TypeIcon({ type, name }: Pick<Upload, 'type'> & { name: string }) {
  const kind = type === 'file' ? (ENDINGS.find(([ending]) => ending.test(name))?.[1] ?? 'file') : type
  return html`<svg class="type" data-kind=${kind} viewBox="0 0 16 16" aria-hidden="true"><path d=${LINES[kind] ?? SHEET} /></svg>`
}
