package flow

import (
	"path/filepath"
	"testing"

	"cpor/frontend/model/compile"
)

// TestLive compares with analyses that keep all registers: forgetting those that are not read
// must not lose exactness. It cannot lose soundness.
func TestLive(t *testing.T) {
	for _, name := range models(t) {
		p := program(t, name)
		f, all := newFrame(p), newFrame(p)
		for at := range all.live {
			if all.leader[at] {
				all.live[at] = nil
				for r := len(p.Consts); r < p.NumReg; r++ {
					all.live[at] = append(all.live[at], int32(r))
				}
			}
		}
		few, many := f.analysis(), all.analysis()
		for pt := range p.Points {
			if p.Points[pt].Ended {
				continue
			}
			few.kept, many.kept = 0, 0
			zero := func(*compile.Var) int64 { return 0 }
			got, want := few.From(pt, zero), many.From(pt, zero)
			if want.join(got) {
				t.Errorf("%s, point %d: keeping all registers tells more", name, pt)
			}
		}
		for _, tt := range p.Threads {
			start := Start{Type: tt, Point: -1}
			got, want := f.threadFuture(start), all.threadFuture(start)
			for pt, ops := range got {
				if ops != nil && (want[pt] == nil || want[pt].join(ops)) {
					t.Errorf("%s, %s, after point %d: keeping all registers tells more", name,
						tt.Name, pt)
				}
			}
		}
	}
}

// models returns the files of the benchmarks.
func models(t *testing.T) []string {
	files, err := filepath.Glob("../../../benchmarks/*.model")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}
