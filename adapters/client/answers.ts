// The build writes the inferred types as interfaces into the declarations.
import type { Static } from 'typebox'
import type * as clusters from '../../src/contract/cluster-routes.ts'
import type * as records from '../../src/contract/record-fields.ts'
import type * as pins from '../../src/contract/records/pin-routes.ts'
import type * as status from '../../src/contract/records/status.ts'
import type * as car from '../../src/contract/uploads/car.ts'
import type * as files from '../../src/contract/uploads/file-routes.ts'
import type * as uploads from '../../src/contract/uploads/uploads.ts'

/** Status of a pin. `pinned` means that the server has stored every block durably. */
export type PinState = Static<typeof records.state>
/** A record: one content that an account pins in one cluster. */
export type Upload = Static<typeof records.Upload>
/** A file of a directory. */
export type DagFile = Static<typeof records.DagFileView>
/** An uploaded directory. */
export type Directory = Static<typeof files.Directory>
/** A root of an imported CAR. */
export type CarRoot = Static<typeof car.CarRootView>
/** Result of a CAR import. `roots` lists all roots of the CAR; the other fields describe the first root. */
export type Car = Static<typeof car.CarView>
/** A record created by CID. */
export type Pin = Static<typeof records.Pin>
/** Status of one content in one cluster. */
export type Allocation = Static<typeof status.Allocation>
/** Detailed status of a pin. */
export type Status = Static<typeof status.Status>
/** A record in a list. */
export type ListedUpload = Static<typeof uploads.ListedUpload>
/** One page of the list of records. */
export type UploadPage = Static<typeof uploads.UploadList>
/** A removed pin. */
export type Removed = Static<typeof pins.RemovedPin>
/** Result of renaming a record. */
export type Renamed = Static<typeof uploads.Renamed>
/** A cluster that the account may use. */
export type Cluster = Static<typeof clusters.ClusterView>
