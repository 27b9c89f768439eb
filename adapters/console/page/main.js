import { HoldfastClient } from '../../client/index.ts'

const place = document.getElementById('console')
if (place !== null) {
  const base = new URL('../api/v3', document.baseURI).href
  place.textContent = `Holdfast ${new HoldfastClient({ base }) === null ? '' : base}`
}
