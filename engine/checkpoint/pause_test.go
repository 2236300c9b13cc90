//go:build unix

package checkpoint

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"cpor/statestore"
)

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// filled returns a store of a quarter of a gigabyte, and what adds n states to it.
func filled(b *testing.B, kind statestore.Kind) (s statestore.Store, add func(n uint64)) {
	s, err := statestore.New(statestore.Options{Kind: kind})
	if err != nil {
		b.Fatal(err)
	}
	x := s.NewSession()
	state := make([]uint64, 6)
	next := uint64(0)
	add = func(n uint64) {
		for range n {
			state[next%6] = next * 0x9E3779B97F4A7C15 >> 40
			next++
			if _, _, err := x.Insert(state, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
	for s.Bytes() < 256<<20 {
		add(1000)
	}
	return s, add
}

// BenchmarkPause is how long a search waits for a checkpoint: until its store of a quarter of a
// gigabyte is written into the file, but not until it is on the disk. Of the states, the given
// share is new since the last one.
func BenchmarkPause(b *testing.B) {
	for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain, statestore.Compact} {
		for _, share := range []float64{1, 0.1, 0.01} {
			b.Run(fmt.Sprintf("%v/%v", kind, share), func(b *testing.B) {
				s, add := filled(b, kind)
				d, err := OpenDir(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				defer d.Close()
				var paused, busy time.Duration
				var mark Mark
				write := func() {
					start, before := time.Now(), processor()
					p, err := d.Begin(struct{}{}, func(w io.Writer) error {
						if err := statestore.Save(s, w); err != nil {
							return err
						}
						mark, err = Append(w, mark, func(w io.Writer, anew bool) error {
							return statestore.SaveStates(s, w, anew)
						})
						statestore.Keep(s)
						return err
					})
					paused, busy = paused+time.Since(start), busy+processor()-before
					if err != nil {
						b.Fatal(err)
					}
					if err := p.Commit(); err != nil {
						b.Fatal(err)
					}
					if err := p.Sweep(); err != nil {
						b.Fatal(err)
					}
				}
				if share < 1 {
					write()
					paused, busy = 0, 0
				}
				for b.Loop() {
					if share == 1 {
						mark = Mark{}
					} else {
						b.StopTimer()
						add(uint64(share * float64(s.Len())))
						b.StartTimer()
					}
					write()
				}
				b.ReportMetric(busy.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "cpu-s/GB")
				b.ReportMetric(paused.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "s/GB")
				b.ReportMetric(float64(room(b, d.path))/float64(s.Bytes()), "disk/memory")
			})
		}
	}
}

// room is what the files of a directory take.
func room(t testing.TB, dir string) (bytes int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := f.Info(); err == nil {
			bytes += st.Size()
		}
	}
	return bytes
}

// BenchmarkResume is how long it takes to build a store of a quarter of a gigabyte from a
// checkpoint.
func BenchmarkResume(b *testing.B) {
	for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain, statestore.Compact} {
		b.Run(kind.String(), func(b *testing.B) {
			s, _ := filled(b, kind)
			d, err := OpenDir(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			p, err := d.Begin(struct{}{}, func(w io.Writer) error {
				if err := statestore.Save(s, w); err != nil {
					return err
				}
				_, err := Append(w, Mark{}, func(w io.Writer, anew bool) error {
					return statestore.SaveStates(s, w, anew)
				})
				return err
			})
			if err == nil {
				err = p.Commit()
			}
			if err != nil {
				b.Fatal(err)
			}
			var took, busy time.Duration
			for b.Loop() {
				start, before := time.Now(), processor()
				r, err := Open(d.path, &struct{}{})
				if err != nil {
					b.Fatal(err)
				}
				back, err := statestore.Restore(r, statestore.Options{Kind: kind})
				if err == nil {
					_, err = Appended(r, func(r io.Reader) error {
						return statestore.RestoreStates(back, r)
					})
				}
				r.Close()
				if err != nil || back.Len() != s.Len() {
					b.Fatal(err)
				}
				took, busy = took+time.Since(start), busy+processor()-before
			}
			b.ReportMetric(busy.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "cpu-s/GB")
			b.ReportMetric(took.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "s/GB")
		})
	}
}
