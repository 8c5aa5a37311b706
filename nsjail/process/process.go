// Package process has what is set once for the whole process, by a program that lives as long as its jail, such as
// cmd/brig.
package process

import "brig/nsjail/internal/launcher"

// FirstPayloadID is the first id for SetPayloadID: above the accounts of the host, and above the ids that payloads of
// root have otherwise.
const FirstPayloadID = launcher.PayloadIDs + launcher.PayloadIDCount

// SetPayloadID sets the host uid and gid of the payloads that this process starts as root, at least FirstPayloadID.
// Without it they are ids that no payload of another live keeper has. Call it before the first start. The caller then
// sees to it that payloads of the same id may share what belongs to it.
func SetPayloadID(id int) error { return launcher.SetPayloadID(id) }
