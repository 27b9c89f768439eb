// Builds the site from the documents: `npm run docs:site` writes `site-pages/`. With two or more tags, each tagged
// version gets a directory.
// Pages use relative links, so a gateway can serve them at `/ipfs/<cid>/`.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeContent } from './content.ts'
import { makeRelative } from './relative-base.ts'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
const OUT = join(ROOT, 'site-pages')
const INDEX = 'docs/README.md'

const tags = execFileSync('git', ['tag', '--list', 'v*', '--sort=-v:refname'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter(tag => tag !== '' && hasIndex(tag))

rmSync(OUT, { recursive: true, force: true })
build(ROOT, '')
if (tags.length > 1) for (const tag of tags) buildTag(tag)

function build(source: string, directory: string): void {
  const out = join(OUT, directory)
  writeContent(source, join(HERE, 'content'), tags, directory)
  const env = { ...process.env, HOLDFAST_SITE_OUT: out }
  execFileSync(process.execPath, [join(HERE, 'node_modules/vitepress/bin/vitepress.js'), 'build', HERE], {
    env,
    stdio: 'inherit',
  })
  makeRelative(out)
  cpSync(join(HERE, 'content/llms.txt'), join(out, 'llms.txt'))
}

function buildTag(tag: string): void {
  const source = mkdtempSync(join(tmpdir(), 'holdfast-site-'))
  const archive = execFileSync('git', ['archive', tag], { cwd: ROOT, maxBuffer: 1_000_000_000 })
  execFileSync('tar', ['-x', '-C', source], { input: archive })
  build(source, tag)
  rmSync(source, { recursive: true })
}

/** Returns false for older versions, which get no site. */
function hasIndex(tag: string): boolean {
  const names = execFileSync('git', ['ls-tree', '-r', '--name-only', tag, INDEX], { cwd: ROOT, encoding: 'utf8' })
  return names.trim() === INDEX
}

if (!existsSync(join(OUT, 'index.html'))) throw new Error('the site has no first page')
