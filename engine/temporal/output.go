package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/internal/terminal"
	"cpor/ltl"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

// itfState is a state of a replay.
type itfState struct {
	encoded system.State
	vars    map[string]string // what the execution has touched, by name
	at      map[string]string // the threads' next statements
}

// observe records a state.
func observe(obs *system.Observers, m system.Machine) itfState {
	s := itfState{encoded: m.Encode(nil), vars: map[string]string{}, at: map[string]string{}}
	for t := range m.NumThreads() {
		if obs.Has(t) {
			continue
		}
		name := m.ThreadName(t)
		if pos, _, ok := m.Next(t); ok {
			s.at[name] = trace.PosString(pos)
		} else {
			s.at[name] = "ended"
		}
		for _, b := range m.Locals(t) {
			s.vars[name+"."+b.Name] = b.Value
		}
	}
	return s
}

// shownProps is the largest number of propositions that get a column each.
const shownProps = 6

// WriteText prints the property, and the execution as a table with the values of the
// propositions.
func (x *Counterexample) WriteText(w io.Writer, o trace.TableOptions) error {
	fmt.Fprintf(w, "%s { %s } %s", x.Property.Called(), x.Property.Text,
		draw.Page(o).Paint(terminal.Bad, "does not hold"))
	if x.Part != x.Property.Formula {
		fmt.Fprintf(w, ", namely its part\n  %s", x.Part)
	}
	fmt.Fprint(w, "\n\n")
	return x.WriteTable(w, o)
}

// WriteTable prints the execution as WriteText does, without the property.
func (x *Counterexample) WriteTable(w io.Writer, o trace.TableOptions) error {
	page := draw.Page(o)
	colors := map[string]terminal.Color{}
	for _, e := range x.Record.Events {
		if _, ok := colors[e.Thread]; !ok {
			colors[e.Thread] = terminal.Thread(len(colors))
		}
	}
	tw := table.NewWriter()
	tw.SetStyle(table.StyleLight)
	tw.Style().Options.DrawBorder = false
	tw.Style().Format.Header = text.FormatDefault
	tw.Style().Options.SeparateColumns = false
	header := table.Row{"", "thread", "statement"}
	columns := len(x.Props) <= shownProps
	var b strings.Builder
	if columns {
		for i, p := range x.Props {
			fmt.Fprintf(&b, "  p%d: %s\n", i+1, p)
			header = append(header, "p"+strconv.Itoa(i+1))
		}
	} else {
		header = append(header, "becomes true", "becomes false")
	}
	tw.AppendHeader(header)
	values := func(k int) []any {
		var cells []any
		if columns {
			for _, v := range x.Values[k] {
				cells = append(cells, map[bool]string{true: "1", false: "·"}[v])
			}
			return cells
		}
		var up, down []string
		for i, v := range x.Values[k] {
			if k > 0 && v == x.Values[k-1][i] {
				continue
			}
			switch {
			case v:
				up = append(up, x.Props[i])
			case k > 0:
				down = append(down, x.Props[i])
			}
		}
		return []any{strings.Join(up, "\n"), strings.Join(down, "\n")}
	}
	row := func(number, thread, statement string, k int) {
		tw.AppendRow(append(table.Row{number, page.Paint(colors[thread], thread), statement},
			values(k)...))
	}
	row("0", "", "(initial state)", 0)
	for i, e := range x.Record.Events {
		if i == len(x.Stem) {
			tw.AppendSeparator()
			tw.AppendRow(table.Row{"", "", "(repeated forever:)"})
		}
		row(strconv.Itoa(i+1), e.Thread, e.Text+"  ("+shortPos(e.Pos)+")", i+1)
	}
	if len(x.Loop) == 0 {
		end := "(no thread is enabled)"
		switch {
		case x.Property.Modality != ltl.Linear:
			end = "(from here on, it cannot be reached)"
		case x.Prefix:
			end = "(however it goes on)"
		}
		tw.AppendSeparator()
		tw.AppendRow(table.Row{"", "", end})
	}
	tw.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: max(30, page.Columns()-40)}})
	fmt.Fprint(w, b.String())
	if b.Len() > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range strings.Split(tw.Render(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	return nil
}

func shortPos(p system.Pos) string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// jsonCounterexample is the object that is in the command's JSON.
type jsonCounterexample struct {
	Params   map[string]string `json:"params,omitempty"` // as in trace.Record
	Flags    map[string]string `json:"flags,omitempty"`
	Kind     string            `json:"kind"`
	Message  string            `json:"message"`
	Pos      string            `json:"pos"`
	Property string            `json:"property"`
	Formula  string            `json:"formula"`
	Part     string            `json:"part"`
	Initial  int               `json:"initial"`
	Trace    []trace.Event     `json:"trace"`
	// index into trace of the loop's first step; len(trace) if it stutters, -1 if the
	// continuation does not matter
	Loop         int      `json:"loop"`
	Propositions []string `json:"propositions"`
	Values       [][]bool `json:"values"` // by state: one more than steps
}

// MarshalJSON returns the counterexample as an object of the kind ltl with a trace
// and the index of the step where the loop begins.
func (x *Counterexample) MarshalJSON() ([]byte, error) {
	_, _, loop := x.Lasso()
	j := jsonCounterexample{
		Params: x.Record.Params, Flags: x.Record.Flags,
		Kind: "ltl", Message: x.Property.Called() + " does not hold",
		Pos:      trace.PosString(x.Property.Pos),
		Property: x.Property.Name, Formula: x.Property.Text, Part: x.Part.String(),
		Initial: x.Initial,
		Trace:   x.Record.Events, Loop: loop, Propositions: x.Props, Values: x.Values,
	}
	if j.Trace == nil {
		j.Trace = []trace.Event{}
	}
	return json.Marshal(j)
}

// WriteITF writes the execution in the Informal Trace Format of Apalache: a
// sequence of states with the index of the one to which the last returns. The
// variables are the propositions, the local variables, the places of the threads,
// and the shared locations that the execution accesses.
func (x *Counterexample) WriteITF(w io.Writer) error {
	n := len(x.states)
	if len(x.Loop) > 0 {
		n-- // the last state is the first one of the loop
	}
	// The value of a location is known from its accesses: before the first one, from what it
	// read.
	shared := make([]map[string]string, len(x.states))
	now := map[string]string{}
	for i := len(x.Record.Events) - 1; i >= 0; i-- {
		for _, a := range x.Record.Events[i].Accesses {
			if !a.Write {
				now[a.Loc] = a.Value
			}
		}
	}
	shared[0] = now
	for i, e := range x.Record.Events {
		next := map[string]string{}
		for k, v := range shared[i] {
			next[k] = v
		}
		for _, a := range e.Accesses {
			next[a.Loc] = a.Value
		}
		shared[i+1] = next
	}
	vars := map[string]bool{}
	states := make([]map[string]any, n)
	for i := range n {
		s := map[string]any{"#meta": map[string]any{"index": i}}
		for k, p := range x.Props {
			s[p] = x.Values[i][k]
		}
		for _, m := range []map[string]string{x.states[i].vars, shared[i]} {
			for k, v := range m {
				s[k] = trace.ITFValue(v)
			}
		}
		for k, v := range x.states[i].at {
			s[k+"@"] = v
		}
		for k := range s {
			if k != "#meta" {
				vars[k] = true
			}
		}
		states[i] = s
	}
	names := make([]string, 0, len(vars))
	for k := range vars {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, s := range states {
		for _, k := range names {
			if _, ok := s[k]; !ok {
				s[k] = "" // not alive, or not known yet
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	out := map[string]any{
		"#meta": map[string]any{
			"format":             "ITF",
			"format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
			"source":             x.Property.Pos.File, "description": x.Property.Called() + " { " +
				x.Property.Text + " }",
		},
		"vars": names, "states": states,
	}
	if !x.Prefix {
		out["loop"] = min(len(x.Stem), n-1)
	}
	return enc.Encode(out)
}

// WriteFile writes the counterexample to a file: as ITF if the name ends in
// .itf.json, as JSON if in .json, as a message-sequence chart if in .svg, otherwise
// as text. It returns the errors of
// the file system.
func (x *Counterexample) WriteFile(name string) error {
	var b bytes.Buffer
	var err error
	switch {
	case strings.HasSuffix(name, ".itf.json"):
		err = x.WriteITF(&b)
	case strings.HasSuffix(name, ".svg"):
		err = draw.Chart(&b, x.Record)
	case strings.HasSuffix(name, ".json"):
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		err = enc.Encode(x)
	default:
		err = x.WriteText(&b, trace.TableOptions{Width: 120})
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
