package bench

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStoller runs the table with made-up figures: the factors must be theirs,
// and a wrong number of states of C(M_ex) must not pass.
func TestStoller(t *testing.T) {
	for _, mex := range []uint64{9, 10} {
		runner := runnerFunc(func(_ context.Context, r Request) Outcome {
			o := Outcome{Status: Done, States: 5000, StoreBytes: 60_000, CPU: 10 * time.Millisecond}
			if slices.Contains(r.Flags, "ld'") {
				o.CPU = 13 * time.Millisecond
			}
			if r.Params.Map()["LOCAL"] == "false" {
				o.States = 250
			}
			if r.POR == "locks" {
				o.States, o.StoreBytes = 50, 1000
				if filepath.Base(r.Model) == "m_ex.model" {
					o.States = mex
				}
				if slices.Contains(r.Flags, "none") {
					o.Status, o.Reason = Limited, "the locking discipline was assumed and not "+
						"checked"
				}
			}
			return o
		})
		var out, errs bytes.Buffer
		code := run(context.Background(), []string{"stoller", "-rounds", "1", "-o", t.TempDir()},
			&out, &errs, runner)
		want := exitDone
		if mex != 9 {
			want = exitUnexpected
		}
		if code != want {
			t.Errorf("exit code %d, want %d\n%s%s", code, want, &out, &errs)
		}
		for _, s := range []string{"201688", "256", "haltexception", "100", "60.0", "1.30",
			"accesses, reduced", "5.00"} {
			if !strings.Contains(out.String(), s) {
				t.Errorf("the report has no %s:\n%s", s, &out)
			}
		}
	}
}
