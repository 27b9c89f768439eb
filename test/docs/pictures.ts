// Writes the documents' screenshots with the browser of the tests: `npm run docs:pictures`.
import { join } from 'node:path'
import { launchBrowser } from '../support/browser.ts'
import { signInByKey, withConsole } from '../support/console-server.ts'

const IMAGES = join(import.meta.dirname, '../../docs/images')
const FILES = ['index.html', 'minutes.txt', 'photo.jpg', 'report.pdf', 'song.ogg']

await withConsole(async server => {
  for (const [place, name] of FILES.entries()) {
    await server.engine.pins.upload(Buffer.alloc(4_000 * (place + 1) ** 3, name), { account: server.owner, name })
  }
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1120, height: 960 } })
    await signInByKey(page, server)
    await page
      .getByText(FILES[0] ?? '')
      .first()
      .waitFor()
    await page.screenshot({ path: join(IMAGES, 'console.png') })
  } finally {
    await browser.close()
  }
})
