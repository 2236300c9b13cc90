package gotest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

var (
	standard = flag.String("standard", "container/ring",
		"explore the tests of these `packages` of the standard library, with commas between")
	standardLimit = flag.Duration("standard-limit", time.Second,
		"for each test of the standard library")
)

// TestStandard explores tests of the standard library itself and logs a row of the table
// in docs/go.md for each package, with what was refused and what differs.
func TestStandard(t *testing.T) {
	if testing.Short() {
		t.Skip("reads packages with their tests")
	}
	pkgs, err := gosrc.Load(t.Context(), strings.Split(*standard, ","), gosrc.Options{Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		c, err := p.Compile()
		if err != nil {
			t.Logf("%s does not build: %v", p.Path, err)
			continue
		}
		count, reasons := map[string]int{}, map[string]int{}
		for _, test := range p.Tests() {
			prog, err := c.Test(test.Name, gosrc.Explore{Short: true})
			var res *Result
			if err == nil {
				res, err = Run(t.Context(), prog, Options{Timeout: *standardLimit})
			}
			no := new(gosrc.Unsupported)
			switch {
			case errors.As(err, &no):
				count["refused"]++
				reasons[no.What]++
			case err != nil:
				count["refused"]++
				t.Logf("%s.%s: %v", p.Path, test.Name, err)
			case res.Failure != nil:
				count["differ"]++
				t.Logf("%s.%s: %s", p.Path, test.Name, res.Failure.Message)
			case res.Verdict == engine.Pass:
				count["pass"]++
			default:
				count["incomplete"]++
			}
		}
		t.Logf("| %s | %d | %d | %d | %d |", p.Path, count["pass"], count["incomplete"],
			count["refused"], count["differ"])
		for _, r := range slices.Sorted(maps.Keys(reasons)) {
			t.Logf("%d refused: %s", reasons[r], r)
		}
		if *standard == "container/ring" && fmt.Sprint(count) != "map[pass:8]" {
			t.Errorf("container/ring: %v", count)
		}
	}
}
