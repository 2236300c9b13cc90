package benchmarks

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// dporFS holds dpor/NAME.model: acyclic programs whose numbers of Mazurkiewicz
// traces are known.
//
//go:embed dpor/*.model
var dporFS embed.FS

// DPORModel returns the text of one of them. The error wraps fs.ErrNotExist if
// there is no model of that name.
func DPORModel(name string) ([]byte, error) {
	if path.Base(name) != name || name == "" {
		return nil, fmt.Errorf("benchmark %q: %w", name, fs.ErrNotExist)
	}
	b, err := dporFS.ReadFile("dpor/" + name + ".model")
	if err != nil {
		return nil, fmt.Errorf("benchmark %q: %w", name, err)
	}
	return b, nil
}
