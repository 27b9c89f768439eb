import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { blocksOf } from '../support/guide.ts'
import { needs } from '../support/needs.ts'
import { buildInto, hasNext, NEXT } from '../support/type-check.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/upload-from-next.md')
/** Layout of a new app, which the reader of the guide has. */
const LAYOUT = `
export default function Layout({ children }: { children: React.ReactNode }) {
  return <html lang="en"><body>{children}</body></html>
}
`

const isThere = needs(hasNext, 'there is no Next.js: npm ci --prefix tools/next')

test('next build compiles the app of the guide', { timeout: 600_000, ...isThere }, () => {
  // Next finds its packages in the directories above.
  const app = mkdtempSync(join(NEXT, 'app-'))
  try {
    const files = blocksOf(GUIDE).filter(({ name }) => name.startsWith('app/'))
    expect(files.map(({ name }) => name)).toEqual(['app/upload/route.ts', 'app/page.tsx'])
    for (const { name, text } of [...files, { name: 'app/layout.tsx', text: LAYOUT }]) {
      mkdirSync(join(app, dirname(name)), { recursive: true })
      writeFileSync(join(app, name), text)
    }
    const installed = join(app, 'node_modules/holdfast')
    buildInto(join(installed, 'dist'))
    writeFileSync(join(installed, 'package.json'), JSON.stringify(packageJson))
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true }))
    writeFileSync(
      join(app, 'next.config.mjs'),
      `export default { turbopack: { root: ${JSON.stringify(NEXT)} }, outputFileTracingRoot: ${JSON.stringify(NEXT)} }\n`,
    )
    const next = join(NEXT, 'node_modules/next/dist/bin/next')
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' } as const
    const printed = execFileSync(process.execPath, [next, 'build'], { cwd: app, env, encoding: 'utf8' })
    expect(printed).toContain('/upload')
  } finally {
    rmSync(app, { recursive: true })
  }
})
