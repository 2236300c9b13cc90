package testcmd

import (
	"flag"
	"strings"
	"testing"
)

// TestHelp: the help has every flag, in lines that a terminal shows.
func TestHelp(t *testing.T) {
	for _, command := range []string{"test", "run"} {
		c := &config{command: command}
		c.define()
		var b strings.Builder
		help(&b, c, true)
		c.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(b.String(), "\n  -"+f.Name+" ") {
				t.Errorf("cpor %s: the help has no -%s", command, f.Name)
			}
		})
		for line := range strings.Lines(b.String()) {
			if len(line) > 81 {
				t.Errorf("%d columns: %s", len(line)-1, line)
			}
		}
	}
}
