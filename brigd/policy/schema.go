package policy

import _ "embed" // the schema

// SchemaFile is the JSON Schema (draft 2020-12) of a policy, for editors and validators. A test writes it from the
// types, with the descriptions that it has. The parser is stricter: it also checks the meaning of values.
//
//go:embed policy.schema.json
var SchemaFile []byte
