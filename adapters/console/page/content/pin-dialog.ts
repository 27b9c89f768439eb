import { useState } from 'preact/hooks'
import { html } from '../markup.ts'
import { routeTo } from '../page-route.ts'
import { useSession } from '../session.ts'
import { Dialog } from '../widgets/dialog.ts'
import { FieldProblem, InputField, submitting } from '../widgets/field.ts'
import { useAction } from '../widgets/use-load.ts'
import { NoPeers } from './no-peers.ts'
import { ANYWHERE, ReadersField, TargetFields, targetOptions } from './target-fields.ts'

/** Pins content that the network or this node has. */
export function PinDialog({ onClose }: { onClose: () => void }) {
  const { client } = useSession()
  const [cid, setCid] = useState('')
  const [name, setName] = useState('')
  const [origins, setOrigins] = useState('')
  const [target, setTarget] = useState(ANYWHERE)
  const { run, isBusy, error } = useAction()
  const submit = submitting(() =>
    run(async () => {
      const given = origins.split(/\s+/).filter(Boolean)
      const pin = await client.pins.add(cidIn(cid), {
        name: name.trim() || undefined,
        origins: given.length === 0 ? undefined : given,
        background: true,
        ...targetOptions(target),
      })
      location.hash = routeTo(['pin', pin.cid], { cluster: pin.clusterId })
    }),
  )
  return html`<${Dialog} title="Pin by CID" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${NoPeers} />
      <${InputField} label="CID" value=${cid} onInput=${setCid} input=${{ required: true, spellcheck: false, autocomplete: 'off' }}
        hint="CID or ipfs:// address of content on the network." />
      <${InputField} label="Name" value=${name} onInput=${setName} hint="Name in the list. Optional." />
      <${ReadersField} target=${target} onChange=${setTarget} />
      <details>
        <summary>Cluster, expiry and providers</summary>
        <${TargetFields} target=${target} onChange=${setTarget} />
        <${InputField} label="Who has it" value=${origins} onInput=${setOrigins} input=${{ spellcheck: false }}
          hint="Multiaddrs of peers, or URLs of gateways, separated by spaces. Optional." />
      </details>
      <${FieldProblem} text=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class="primary" disabled=${isBusy}>${isBusy ? 'Asking…' : 'Pin'}</button>
      </div>
    </form>
  </${Dialog}>`
}

/** Finds the CID in what the user pasted, such as `ipfs://CID` or `https://gateway.example/ipfs/CID/`. */
export function cidIn(text: string): string {
  const [, found] = /(?:ipfs:\/\/|\/ipfs\/)([^/?#\s]+)/.exec(text) ?? []
  return (found ?? text).trim()
}
