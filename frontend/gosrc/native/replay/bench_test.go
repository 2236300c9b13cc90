package replay

import (
	"testing"

	"cpor/testkit/toysystem"
)

// What a search costs beside running the program: the process is no more than a list of steps.
func BenchmarkSearch(b *testing.B) {
	p := toysystem.NewProgram()
	lock, x := p.Scalar("lock", 0), p.Scalar("x", 0)
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		p.Thread(n, 1, toysystem.Lock(lock, nil),
			toysystem.Atomic(toysystem.Set(0, toysystem.Load(x, nil))),
			toysystem.Atomic(toysystem.Store(x, nil, toysystem.Reg(0))),
			toysystem.Unlock(lock, nil))
		p.Start(n)
	}
	sys, err := toysystem.New(p)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := record(b, sys, 1)
		res, err := explore(b, s, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(res.Executions), "executions")
		b.ReportMetric(float64(s.Counts().Runs), "runs")
		b.ReportMetric(float64(s.Counts().Looked), "looked")
		b.ReportMetric(float64(s.Counts().Events), "events")
	}
}
