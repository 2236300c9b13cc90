package replay

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/testkit/gogen"
)

// The interpreter, run as a process, has the executions that it has when it is stepped.
func TestInterpreterAsProcess(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module k\n\ngo 1.25\n")
	n := max(8, *many/20)
	for seed := range uint64(n) {
		p := gogen.NewConcurrent(rand.New(rand.NewPCG(seed, 27)),
			gogen.Shape{Goroutines: 1 + int(seed%3)/2, Steps: 3, Polls: seed%3 == 0,
				RW: seed%4 < 2})
		write(fmt.Sprintf("p%d/main.go", seed), p.Source())
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != n {
		t.Fatalf("%d packages of %d", len(pkgs), n)
	}
	var runs, executions uint64
	for _, pkg := range pkgs {
		c, err := pkg.Compile()
		if err != nil {
			t.Fatal(err)
		}
		prog, err := c.Main(gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := explore(t, prog.System, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.Verdict == engine.Incomplete || want.Transitions >= 5_000 {
			continue
		}
		s := record(t, prog.System, 2)
		got, err := explore(t, s, 2)
		if err != nil {
			t.Fatalf("%s: %v", pkg.Path, err)
		}
		if found(got) != found(want) {
			t.Errorf("%s: %s, want %s", pkg.Path, found(got), found(want))
		}
		runs += s.Counts().Runs
		executions += got.Executions
	}
	t.Logf("%d programs, %d executions, %d runs", n, executions, runs)
	if executions == 0 {
		t.Error("nothing was compared")
	}
}
