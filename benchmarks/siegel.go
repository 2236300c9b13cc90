package benchmarks

import (
	"embed"
	"fmt"
	"path"
)

//go:embed siegel/*.model
var siegel embed.FS

// siegelNames lists the programs of Siegel, "Transparent partial order
// reduction" (2012), section 4.3, in the order of figure 4.
var siegelNames = []string{"coordbarrier", "dissbarrier", "mpsc", "prodcons"}

// SiegelNames returns the names of the programs on which Siegel (2012) compares
// invisible and transparent ample sets, in the order of figure 4.
func SiegelNames() []string { return append([]string(nil), siegelNames...) }

// Siegel returns the text of one of these models. The error wraps
// fs.ErrNotExist if there is none of that name.
func Siegel(name string) ([]byte, error) {
	b, err := siegel.ReadFile(path.Join("siegel", name+".model"))
	if err != nil {
		return nil, fmt.Errorf("benchmark %q: %w", name, err)
	}
	return b, nil
}
