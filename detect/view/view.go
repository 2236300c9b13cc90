// Package view shows what `cpor detect -json` and `cpor conform -json` have written on the page of
// package explore: the events of the log, those of the cut first. It enters itself among the page's
// readers.
package view

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/explore"
)

func init() {
	explore.Readers = append(explore.Readers,
		explore.Reader{Keys: []string{"modality", "hosts"}, Read: read},
		explore.Reader{Keys: []string{"followed", "cut", "logs"}, Read: readConform})
}

// result is what `cpor detect -json` prints.
type result struct {
	Log       string   `json:"log"`
	Trace     string   `json:"trace"`
	Hosts     []string `json:"hosts"`
	Modality  string   `json:"modality"`
	Predicate string   `json:"predicate"`
	Verdict   string   `json:"verdict"`
	Repairs   int      `json:"repairs"`
	Witness   *struct {
		Cut []struct {
			Host  string `json:"host"`
			State int32  `json:"state"`
		} `json:"cut"`
	} `json:"witness"`
}

// read reads a result of `cpor detect`, and the log that it is about.
func read(text []byte, dir string) (*explore.Kept, error) {
	var j result
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the result is damaged: %v", err)
	}
	files, err := logFiles(j.Log, "cpor detect", dir)
	if err != nil {
		return nil, err
	}
	execs, err := logs.ReadFiles(files, strings.NewReader(""), logs.Options{Lenient: j.Repairs > 0})
	if err != nil {
		return nil, fmt.Errorf("the log that the result is about: %v", err)
	}
	at := slices.IndexFunc(execs, func(x logs.Execution) bool { return x.Label() == j.Trace })
	if at < 0 {
		return nil, fmt.Errorf("the log %s has no execution %q any more", j.Log, j.Trace)
	}
	c := execs[at].Computation
	var cut computation.Cut
	if j.Witness != nil {
		cut = c.Initial().Clone()
		for _, w := range j.Witness.Cut {
			i, ok := c.Process(w.Host)
			if !ok || w.State < 0 || w.State > c.Events(i) {
				return nil, fmt.Errorf("the log %s is not the one that was analyzed: "+
					"it has no state %d of %s", j.Log, w.State, w.Host)
			}
			cut[i] = w.State
		}
		if !c.Consistent(cut) {
			return nil, fmt.Errorf("the log %s is not the one that was analyzed: the cut "+
				"is not consistent in it", j.Log)
		}
	}
	d, _ := document(c, cut)
	d.Title = j.Verdict + ": " + j.Predicate
	d.Kind, d.Message = "detect", d.Title
	return &explore.Kept{Documents: []*explore.Document{d}, Summary: j.Log}, nil
}

// logFiles returns the files that a log was read from: the names stand one behind the
// other, and may be relative to where the result stands.
func logFiles(log, command, dir string) ([]string, error) {
	for _, names := range [][]string{{log}, strings.Fields(log)} {
		for _, base := range []string{"", dir} {
			var files []string
			for _, n := range names {
				if base != "" && !filepath.IsAbs(n) {
					n = filepath.Join(base, n)
				}
				if _, err := os.Stat(n); err == nil {
					files = append(files, n)
				}
			}
			if len(files) == len(names) && len(files) > 0 {
				return files, nil
			}
		}
	}
	return nil, fmt.Errorf("the log %s, which the result is about, is not there; begin in the "+
		"directory where %s ran", log, command)
}

// document returns the document of a recorded run: the events in an order in which
// they could have happened, those of the cut first, if there is one, so that the cut
// is a straight line. rowOf has the row of each event that is shown.
func document(c *computation.Computation, cut computation.Cut) (d *explore.Document,
	rowOf map[computation.Event]int) {
	d = explore.NewDocument()
	d.Columns = append(d.Columns, c.Names()...)
	var events []computation.Event
	if cut != nil {
		events = append(events, c.Linearise(c.Initial(), cut)...)
		d.Cut = len(events)
		events = append(events, c.Linearise(cut, c.Final())...)
	} else {
		events = c.Linearise(c.Initial(), c.Final())
	}
	d.Total = len(events)
	if len(events) > explore.MaxRows {
		d.Notes = append(
			d.Notes,
			fmt.Sprintf("Only the first %d of %d events are shown.", explore.MaxRows,
				len(events)),
		)
		events = events[:explore.MaxRows]
		if d.Cut > explore.MaxRows {
			d.Cut = -1
			d.Notes = append(d.Notes, "The cut comes after them.")
		}
	}
	first := make([]int, c.N()) // index in d.Vars of the first variable of each process
	var now []string            // their values
	for i := range c.N() {
		first[i] = len(d.Vars)
		for _, v := range c.Variables(i) {
			now = append(now, valueAt(c, v, 0))
			d.Vars = append(d.Vars, explore.Var{Name: v.Name, Group: c.Name(i),
				Value: valueAt(c, v, 0)})
		}
	}
	rowOf = map[computation.Event]int{}
	for k, e := range events {
		rowOf[e] = k
		at := c.Pos(e.Process, e.Index)
		row := explore.Row{Column: e.Process, Pos: explore.Place{File: at.Source, Line: at.Line},
			Text: c.Text(e.Process, e.Index), Accesses: []explore.Access{}, Depends: []int{},
			Set: []explore.Value{}}
		if e.Index > 1 {
			row.Depends = append(row.Depends,
				rowOf[computation.Event{Process: e.Process, Index: e.Index - 1}])
		}
		for _, m := range c.Messages(e.Process, e.Index) {
			if from := rowOf[m.From]; m.From.Process != e.Process {
				d.Arrows = append(d.Arrows, explore.Arrow{From: from, To: k})
				row.Depends = append(row.Depends, from)
			}
		}
		for n, v := range c.Variables(e.Process) {
			n += first[e.Process]
			if value := valueAt(c, v, e.Index); value != now[n] {
				now[n] = value
				row.Set = append(row.Set, explore.Value{Var: n, Value: value})
			}
		}
		d.Rows = append(d.Rows, row)
	}
	return d, rowOf
}

func valueAt(c *computation.Computation, v computation.Variable, k int32) string {
	if x := c.Values().Value(v.At(k)); x.Defined() {
		return x.String()
	}
	return ""
}
