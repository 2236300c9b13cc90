//go:build unix

package checkpoint

import (
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

// BenchmarkPause is how long a search waits for a checkpoint: until its store of a
// quarter of a gigabyte is written into the file, but not until it is on the disk.
func BenchmarkPause(b *testing.B) {
	for _, kind := range []statestore.Kind{statestore.Tree, statestore.Plain} {
		b.Run(kind.String(), func(b *testing.B) {
			s, err := statestore.New(statestore.Options{Kind: kind})
			if err != nil {
				b.Fatal(err)
			}
			x := s.NewSession()
			state := make([]uint64, 6)
			for n := uint64(0); s.Bytes() < 256<<20; n++ {
				state[n%6] = n * 0x9E3779B97F4A7C15 >> 40
				if _, _, err := x.Insert(state, 0); err != nil {
					b.Fatal(err)
				}
			}
			d, err := OpenDir(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			var paused, busy time.Duration
			for b.Loop() {
				start, before := time.Now(), processor()
				p, err := d.Begin(struct{}{}, func(w io.Writer) error { return statestore.Save(s, w) })
				paused, busy = paused+time.Since(start), busy+processor()-before
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			f, err := os.Stat(d.File())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(busy.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "cpu-s/GB")
			b.ReportMetric(paused.Seconds()/float64(b.N)/(float64(s.Bytes())/1e9), "s/GB")
			b.ReportMetric(float64(f.Size())/float64(s.Bytes()), "disk/memory")
		})
	}
}
