package detectcmd

import (
	"fmt"
	"slices"
	"strings"

	"cpor/detect/logs"
	"cpor/internal/cliflag"
)

// DefineLog defines the flags that say how a log is read. The function that it returns checks them
// once they are parsed, and completes the options.
func DefineLog(f *cliflag.Set, o *logs.Options) (complete func() error) {
	var assign string
	f.StringVar(&o.Format, "format", "", "the `format` of the log: "+
		strings.Join(logs.Formats, ", ")+
		" (default: detected)")
	f.StringVar(&o.Regexp, "regexp", "", "the parser of a ShiViz log: a `regexp` with "+
		"groups host, clock, event, and perhaps more for variables")
	f.StringVar(&o.Delimiter, "delimiter", "", "the `regexp` between several executions in "+
		"a file; its group trace is their name")
	f.StringVar(&assign, "assign", "", "finds the assignments in an event's text: a `regexp` "+
		"with groups name and value (default: name=value and JSON)")
	f.BoolVar(&o.Lenient, "lenient", false, "repair vector clocks where possible, and say so")
	return func() error {
		if o.Format != "" && !slices.Contains(logs.Formats, o.Format) {
			return fmt.Errorf("-format %s: want %s", o.Format, strings.Join(logs.Formats, ", "))
		}
		re, err := assignments(assign)
		o.Assign = re
		return err
	}
}
