package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

var updateTraces = flag.Bool("update-traces", false, "rewrite the traces under testdata/traces")

// TestTraces prints a trace of each model under testdata/traces, which have every
// construct that makes a step, and holds it to what people have read. All other
// forms of the trace are checked for what they promise.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/traces/*.model")
	if err != nil || len(files) == 0 {
		t.Fatal("no models", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := model.Parse(filepath.Base(file), string(src), model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rec := record(t, m.System())
			var b bytes.Buffer
			if err := draw.Table(&b, rec, trace.TableOptions{Width: 80}); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			for line := range strings.Lines(got) {
				if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("a line of %d columns: %s", n, line)
				}
			}
			for _, internal := range []string{".tail", ".head", ".slot", ".parked", "waiting of",
				"existence of", "filled"} {
				if strings.Contains(got, internal) {
					t.Errorf("the table shows %q", internal)
				}
			}
			golden := strings.TrimSuffix(file, ".model") + ".txt"
			if *updateTraces {
				if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (-update-traces rewrites it); got:\n%s", golden, got)
			}
			checkForms(t, rec)
		})
	}
}

// record returns a trace of a system that the search finds.
func record(t *testing.T, sys system.System) *trace.Record {
	t.Helper()
	res, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Violations) == 0 {
		t.Fatal("nothing is violated")
	}
	rec, err := res.Violations[0].Trace.RecordStates(sys)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// checkForms checks the ends of messages, the JSON, ITF and the chart.
func checkForms(t *testing.T, rec *trace.Record) {
	t.Helper()
	arrows, open := 0, 0
	for i, e := range rec.Events {
		for _, m := range e.Messages {
			if m.Other < 0 {
				if open++; !m.Sent {
					t.Errorf("step %d receives %s from %s, which nobody sent", i+1, m.Value,
						m.Channel)
				}
				continue
			}
			back := false
			for _, o := range rec.Events[m.Other].Messages {
				back = back || o.Other == i && o.Sent != m.Sent && o.Channel == m.Channel &&
					o.Value == m.Value
			}
			if !back {
				t.Errorf("step %d: the other end of %v does not know of it", i+1, m)
			}
			if m.Sent {
				if arrows++; m.Other <= i {
					t.Errorf("step %d sends what step %d has received", i+1, m.Other+1)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := draw.Chart(&b, rec); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), `class="message"`); got != arrows {
		t.Errorf("%d arrows for %d messages", got, arrows)
	}
	if got := strings.Count(b.String(), `class="lost"`); got != open {
		t.Errorf("%d open ends for %d messages that nobody received", got, open)
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart: %v", err)
		}
	}
	b.Reset()
	if err := rec.WriteITF(&b); err != nil {
		t.Fatal(err)
	}
	var itf struct {
		Vars   []string
		States []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &itf); err != nil {
		t.Fatal(err)
	}
	if len(itf.States) != len(rec.Events)+1 {
		t.Errorf("ITF has %d states after %d steps", len(itf.States), len(rec.Events))
	}
	for i, s := range itf.States {
		if len(s) != len(itf.Vars)+1 {
			t.Errorf("state %d of ITF has %d members, there are %d variables", i, len(s),
				len(itf.Vars))
		}
	}
	b.Reset()
	if err := rec.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Trace  []struct{ Locals map[string]string }
		States []struct {
			Shared  map[string]string
			Threads map[string]struct{ Locals map[string]string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if len(j.States) != len(j.Trace)+1 {
		t.Fatalf("JSON has %d states after %d steps", len(j.States), len(j.Trace))
	}
	for i, e := range rec.Events {
		for _, a := range e.Accesses {
			if a.Write && !a.Internal && j.States[i+1].Shared[a.Loc] != a.Value {
				t.Errorf("after step %d, %s is %q in the state and %q in the step", i+1, a.Loc,
					j.States[i+1].Shared[a.Loc], a.Value)
			}
		}
		for name, v := range j.Trace[i].Locals {
			if got := j.States[i+1].Threads[e.Thread].Locals[name]; got != v {
				t.Errorf("after step %d, %s of %s is %q in the state and %q in the step", i+1, name,
					e.Thread, got, v)
			}
		}
	}
}
