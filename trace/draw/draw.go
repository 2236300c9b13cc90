// Package draw shows the records of package trace to people: as a table, as a message-sequence
// chart, and as files.
//
//	rec, err := tr.Record(sys)
//	draw.Table(os.Stdout, rec, trace.TableOptions{Width: 80})
//
// It is apart from trace so that what searches, and does not print, comes without it and the
// libraries that it uses: go-pretty for tables, svgo for charts.
package draw

import (
	"os"
	"strings"

	"cpor/trace"
)

// File writes a record to a file, replacing it: in ITF if the name ends in
// .itf.json, as JSON if in .json, as a message-sequence chart if in .svg, otherwise
// as a table with every step. It returns the errors of the file system.
func File(name string, r *trace.Record) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".itf.json"):
		err = r.WriteITF(f)
	case strings.HasSuffix(lower, ".json"):
		err = r.WriteJSON(f)
	case strings.HasSuffix(lower, ".svg"):
		err = Chart(f, r)
	default:
		err = Table(f, r, trace.TableOptions{Width: 100})
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
