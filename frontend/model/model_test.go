package model_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
)

// chunk is one model of a testdata file. Chunks are separated by lines "---";
// the first line of each says what is expected:
//
//	// want: pass states=10 transitions=20
//	// want: assertion "x is one" at 7:2
//	// want: refused "unknown name"
type chunk struct {
	line   int
	text   string
	want   string
	counts map[string]uint64
	msg    string
	at     string
}

var wantLine = regexp.MustCompile(`^// want: (\w+)((?: \w+=\d+)*)(?: "(.*)")?(?: at (\d+:\d+))?$`)

func chunks(t testing.TB, file string) []chunk {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cs []chunk
	line := 1
	for _, part := range strings.Split(string(text), "---\n") {
		first, _, _ := strings.Cut(part, "\n")
		m := wantLine.FindStringSubmatch(first)
		if m == nil {
			t.Fatalf("%s:%d: not a line // want: %q", file, line, first)
		}
		c := chunk{line: line, text: part, want: m[1], msg: m[3], at: m[4],
			counts: map[string]uint64{}}
		for _, kv := range strings.Fields(m[2]) {
			k, v, _ := strings.Cut(kv, "=")
			c.counts[k], _ = strconv.ParseUint(v, 10, 64)
		}
		cs = append(cs, c)
		line += strings.Count(part, "\n") + 1
	}
	return cs
}

// TestModels runs the models under testdata through the full and the cartesian
// search and compares verdicts, messages, places and exact counts.
func TestModels(t *testing.T) {
	files, err := filepath.Glob("testdata/*.models")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata")
	}
	for _, file := range files {
		for _, c := range chunks(t, file) {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), c.line), func(t *testing.T) {
				c.run(t)
			})
		}
	}
}

func cartesianFactory(sys system.System) search.Factory {
	return func() search.Expander { return cartesian.New(sys, cartesian.Options{}) }
}

func (c *chunk) run(t *testing.T) {
	m, err := model.Parse("m.model", c.text, model.Options{})
	if c.want == "refused" {
		if err == nil || !strings.Contains(err.Error(), c.msg) {
			t.Fatalf("error %v, want %q", err, c.msg)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sys := m.System()
	for _, por := range []string{"none", "cartesian"} {
		f := full.Factory(sys)
		if por == "cartesian" {
			f = cartesianFactory(sys)
		}
		res, err := search.Run(context.Background(), sys, f, search.Options{
			Options: engine.Options{Workers: 2, All: true}})
		if err != nil {
			t.Fatalf("%s: %v", por, err)
		}
		if c.want == "pass" {
			if res.Verdict != engine.Pass {
				t.Errorf("%s: %s %v", por, res.Verdict, describe(res))
			}
		} else {
			c.violation(t, por, res)
		}
		got := map[string]uint64{"states": res.States, "transitions": res.Transitions}
		if por == "cartesian" {
			got = map[string]uint64{"cstates": res.States, "ctransitions": res.Transitions}
		}
		for k, v := range got {
			if w, ok := c.counts[k]; ok && v != w {
				t.Errorf("%s: %s = %d, want %d", por, k, v, w)
			}
		}
	}
}

func (c *chunk) violation(t *testing.T, por string, res *search.Result) {
	for _, v := range res.Violations {
		if v.Kind != system.ViolationKind(c.want) || !strings.Contains(v.Message, c.msg) {
			continue
		}
		if c.at != "" && c.at != fmt.Sprintf("%d:%d", v.Pos.Line, v.Pos.Col) {
			continue
		}
		if v.TraceMissing != "" {
			t.Errorf("%s: no trace: %s", por, v.TraceMissing)
		}
		return
	}
	t.Errorf("%s: found %v, want %s %q at %s", por, describe(res), c.want, c.msg, c.at)
}

func describe(res *search.Result) []string {
	var out []string
	for _, v := range res.Violations {
		out = append(out, fmt.Sprintf("%s %q at %d:%d", v.Kind, v.Message, v.Pos.Line, v.Pos.Col))
	}
	return out
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
