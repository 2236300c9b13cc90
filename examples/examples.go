// Package examples holds well-known algorithms and protocols as models, in cpor's language and
// in Promela, so that they can be measured wherever the command runs.
package examples

import "embed"

// FS holds the models: NAME.model and promela/NAME.pml.
//
//go:embed *.model promela/*.pml
var FS embed.FS
