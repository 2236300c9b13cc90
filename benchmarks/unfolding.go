package benchmarks

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// unfoldingFS holds unfolding/NAME.model: programs of many threads that work
// side by side.
//
//go:embed unfolding/*.model
var unfoldingFS embed.FS

// UnfoldingModel returns the text of one of them. The error wraps fs.ErrNotExist
// if there is no model of that name.
func UnfoldingModel(name string) ([]byte, error) {
	if path.Base(name) != name || name == "" {
		return nil, fmt.Errorf("benchmark %q: %w", name, fs.ErrNotExist)
	}
	b, err := unfoldingFS.ReadFile("unfolding/" + name + ".model")
	if err != nil {
		return nil, fmt.Errorf("benchmark %q: %w", name, err)
	}
	return b, nil
}
