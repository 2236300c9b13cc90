package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpor/system"
	"cpor/trace"
)

// Kept is what a file has that a command of cpor has written: documents, and what they
// are of.
type Kept struct {
	Documents []*Document
	// Model is the file with the program, "" if the file does not say. Params are the constants
	// that were set for it, and Flags those of its front end.
	Model         string
	Params, Flags map[string]string
	// Package is the import path of the Go package that the execution is of, "" if it is
	// of none.
	Package string
	// Summary says in a line what the file is about.
	Summary string
}

// traceJSON is an execution in the command's JSON: of a trace, or of a counterexample
// to a temporal property.
type traceJSON struct {
	trace.RecordJSON
	Missing string `json:"trace_missing"`
	// Of counterexamples:
	Formula      string   `json:"formula"`
	Loop         *int     `json:"loop"`
	Propositions []string `json:"propositions"`
	Values       [][]bool `json:"values"`
}

func kept(t *trace.ThreadJSON, column int) Standing {
	st := Standing{Column: column, State: t.State, Pos: parsePlace(t.Pos), Text: t.Text}
	waits := slices.Clone(t.WaitsFor)
	for _, a := range t.Waits {
		if !a.Internal {
			waits = append(waits, a.Loc+" = "+a.Value)
		}
	}
	st.Waits = strings.Join(waits, ", ")
	if t.Stopped {
		st.State = "stopped"
	}
	return st
}

// resultJSON is the whole result of an exploration in the command's JSON.
type resultJSON struct {
	Model      string             `json:"model"`
	Params     map[string]any     `json:"params"`
	Verdict    string             `json:"verdict"`
	Reason     string             `json:"reason"`
	Violations *[]json.RawMessage `json:"violations"`
}

// goJSON is a failing execution of a Go test in a file of `cpor test -trace`.
type goJSON struct {
	Package string          `json:"package"`
	Test    string          `json:"test"`
	Record  json.RawMessage `json:"record"`
	Failure struct {
		Kind     string   `json:"kind"`
		Headline string   `json:"headline"`
		Pos      string   `json:"pos"`
		Notes    []string `json:"notes"`
	} `json:"failure"`
}

// A Reader reads what another command than `cpor run` and `cpor test` has written.
type Reader struct {
	// Keys are those of its JSON object by which it is known.
	Keys []string
	// Read reads the object, which is in the directory dir.
	Read func(text []byte, dir string) (*Kept, error)
}

// Readers are tried in their order. A package enters its own in its initialization.
var Readers []Reader

// Read reads a file that -trace FILE.json of `cpor run` or `cpor test`, -json of `cpor run`
// or -json of `cpor detect` or `cpor conform` has written. The error says what is wrong with it.
func Read(name string) (*Kept, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parse(text, filepath.Dir(name))
}

// parse reads a text; dir is where it stood.
func parse(text []byte, dir string) (*Kept, error) {
	var keys map[string]json.RawMessage
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) > 0 && trimmed[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return nil, notJSON(err)
		}
		all := &Kept{Summary: fmt.Sprintf("%d results", len(list))}
		for _, one := range list {
			k, err := parse(one, dir)
			if err != nil {
				return nil, err
			}
			all.Documents = append(all.Documents, k.Documents...)
		}
		if len(all.Documents) == 0 {
			return nil, errors.New("it contains no execution")
		}
		return all, nil
	}
	if err := json.Unmarshal(trimmed, &keys); err != nil {
		return nil, notJSON(err)
	}
	has := func(name string) bool { return keys[name] != nil }
	for _, r := range Readers {
		if !slices.ContainsFunc(r.Keys, func(key string) bool { return !has(key) }) {
			return r.Read(trimmed, dir)
		}
	}
	switch {
	case has("violations"):
		return parseResult(trimmed)
	case has("record") && has("package"):
		return parseGo(trimmed)
	case has("trace"):
		d, j, err := parseTrace(trimmed)
		if err != nil {
			return nil, err
		}
		k := &Kept{Documents: []*Document{d}, Model: d.Pos.File, Params: j.Params, Flags: j.Flags,
			Summary: d.Title}
		for i := 0; i < len(d.Rows) && k.Model == ""; i++ {
			k.Model = d.Rows[i].Pos.File
		}
		return k, nil
	case has("states") && has("vars"):
		return nil, errors.New("ITF traces do not contain the steps; write the trace with " +
			"-trace FILE.json instead of .itf.json")
	}
	return nil, errors.New("this is neither a trace (-trace FILE.json of cpor run and cpor test) " +
		"nor a result (cpor run -json, cpor detect -json, cpor conform -json)")
}

// Rename notes that the model's file has another name than in the file that was read.
func (k *Kept) Rename(model string) {
	rename := func(p *Place) {
		if p.File == k.Model && p.File != "" {
			p.File = model
		}
	}
	for _, d := range k.Documents {
		rename(&d.Pos)
		for i := range d.Rows {
			rename(&d.Rows[i].Pos)
			for j := range d.Rows[i].Next {
				rename(&d.Rows[i].Next[j].Pos)
			}
		}
		for i := range d.Next {
			rename(&d.Next[i].Pos)
		}
	}
	k.Model = model
}

func notJSON(err error) error {
	return fmt.Errorf("this is not JSON (%v); want a trace (cpor run -trace FILE.json) or a "+
		"result (cpor run -json, cpor detect -json)", err)
}

func parseGo(text []byte) (*Kept, error) {
	var j goJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the trace is damaged: %v", err)
	}
	d, _, err := parseTrace(j.Record)
	if err != nil {
		return nil, err
	}
	if f := j.Failure; f.Headline != "" {
		d.Kind, d.Title, d.Message, d.Pos = f.Kind, f.Headline, f.Headline, parsePlace(f.Pos)
		if d.History != nil { // it says the rest
			d.Title, _, _ = strings.Cut(d.Title, "\n")
			d.Message = d.Title
		}
		d.Notes = append(d.Notes, f.Notes...)
		if n := len(d.Rows); n > 0 {
			d.Rows[n-1].Violation = d.Title
		}
	}
	k := &Kept{Documents: []*Document{d}, Package: j.Package, Summary: j.Package}
	if j.Test != "" {
		k.Summary += ": " + j.Test
	}
	return k, nil
}

func parseResult(text []byte) (*Kept, error) {
	var r resultJSON
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the result is damaged: %v", err)
	}
	k := &Kept{Model: r.Model, Params: map[string]string{}, Summary: r.Model + ": " + r.Verdict}
	if r.Reason != "" {
		k.Summary += " (" + r.Reason + ")"
	}
	for name, v := range r.Params {
		k.Params[name] = printed(v)
	}
	for _, v := range *r.Violations {
		d, _, err := parseTrace(v)
		if err != nil {
			return nil, err
		}
		k.Documents = append(k.Documents, d)
	}
	if len(k.Documents) == 0 {
		return nil, fmt.Errorf("%s: there is no execution in the result; \"cpor explore %s\" "+
			"explores the model by hand", k.Summary, r.Model)
	}
	return k, nil
}

// printed returns a constant as one gives it with -D.
func printed(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// NewDocument returns a document without steps.
func NewDocument() *Document {
	return &Document{Loop: -1, Cut: -1, Rows: []Row{}, Vars: []Var{}, Arrows: []Arrow{},
		Notes: []string{}, Columns: []string{}}
}

// parsePlace reads FILE:LINE:COL.
func parsePlace(s string) Place {
	p := Place{File: s}
	if i := strings.LastIndexByte(p.File, ':'); i > 0 {
		if n, err := strconv.Atoi(p.File[i+1:]); err == nil {
			p.File, p.Line = p.File[:i], n
			if i := strings.LastIndexByte(p.File, ':'); i > 0 {
				if n, err := strconv.Atoi(p.File[i+1:]); err == nil {
					p.File, p.Line, p.Col = p.File[:i], n, p.Line
				}
			}
		}
	}
	return p
}

// parseTrace reads an execution. What a variable holds is known from the accesses only:
// before the first one, from what it read.
func parseTrace(text []byte) (*Document, *traceJSON, error) {
	var j traceJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, nil, fmt.Errorf("the trace is damaged: %v", err)
	}
	d := headOf(&j)
	r := &reader{d: d, j: &j, column: map[string]int{}, index: map[string]int{}, ord: newOrder()}
	for _, f := range j.Final {
		r.columnOf(f.Thread)
	}
	r.dropObserver()
	if r.whole = len(j.States) == len(j.Trace)+1; r.whole {
		r.enterState()
	} else {
		r.enterAccessed()
	}
	r.enterPropositions()
	for k := range j.Trace {
		d.Rows = append(d.Rows, r.row(k))
	}
	if n := len(d.Rows); n > 0 && !r.whole {
		for i := range j.Final {
			d.Rows[n-1].Next = append(d.Rows[n-1].Next,
				kept(&j.Final[i], r.columnOf(j.Final[i].Thread)))
		}
	}
	if j.Loop != nil {
		d.Loop = *j.Loop
		if d.Loop < 0 || d.Loop > len(d.Rows) {
			return nil, nil, fmt.Errorf("the trace is damaged: it returns to step %d of %d", d.Loop,
				len(d.Rows))
		}
	}
	return d, &j, nil
}

// ReadTrace reads an execution in the form of -trace FILE.json.
func ReadTrace(text []byte) (*Document, error) {
	d, _, err := parseTrace(text)
	return d, err
}

// ParsePlace reads FILE:LINE:COL; column and line may be missing.
func ParsePlace(s string) Place { return parsePlace(s) }

// headOf returns a document without rows: what is found, and notes. It shortens a trace with too
// many steps.
func headOf(j *traceJSON) *Document {
	d := NewDocument()
	d.Kind, d.Message, d.Pos, d.Total = j.Kind, j.Message, parsePlace(j.Pos), len(j.Trace)
	d.History = j.History
	d.initial = j.Initial
	d.Title = j.Message
	if !strings.HasPrefix(j.Message, j.Kind) && j.Kind != "" && j.Kind != "ltl" {
		d.Title = j.Kind + ": " + j.Message
	}
	if j.Formula != "" {
		d.Title += ": " + j.Formula
	}
	if j.Missing != "" {
		d.Notes = append(d.Notes, "There is no trace: "+j.Missing)
	}
	if len(j.Trace) > MaxRows {
		d.Notes = append(d.Notes, fmt.Sprintf("Only the first %d of %d steps are shown.", MaxRows,
			len(j.Trace)))
		j.Trace, j.Final, j.Values, j.States = j.Trace[:MaxRows], nil, nil, nil
	}
	for _, c := range j.Choices {
		d.Notes = append(d.Notes, "It begins where "+c+".")
	}
	return d
}

// reader makes a document of a trace: it collects columns and variables.
type reader struct {
	d      *Document
	j      *traceJSON
	whole  bool // the trace has the states
	props  []int
	ord    *order
	column map[string]int
	index  map[string]int
	now    []string
}

// dropObserver drops the last step if it is that of an observer, which only finds that a property
// does not hold.
func (r *reader) dropObserver() {
	j := r.j
	if n := len(j.Trace); n > 0 && j.Kind == "invariant" &&
		strings.HasPrefix(j.Trace[n-1].Thread, "invariant ") {
		j.Trace = j.Trace[:n-1]
		j.States = j.States[:min(n, len(j.States))]
		r.d.Total--
	}
}

// enterState enters the variables of the initial state.
func (r *reader) enterState() {
	first := r.j.States[0]
	names := slices.Sorted(maps.Keys(first.Threads))
	for _, name := range names {
		r.columnOf(name)
	}
	for _, name := range slices.Sorted(maps.Keys(first.Shared)) {
		r.enter(Var{Name: name, Group: shared, Value: first.Shared[name]})
	}
	for _, name := range names {
		t := first.Threads[name]
		r.d.Next = append(r.d.Next, kept(&t, r.columnOf(name)))
		for _, local := range slices.Sorted(maps.Keys(t.Locals)) {
			r.enter(Var{Name: local, Group: name, Value: t.Locals[local]})
		}
	}
}

// enterAccessed enters the variables that are accessed: the first access tells the initial value.
func (r *reader) enterAccessed() {
	first := map[string]bool{}
	for _, e := range r.j.Trace {
		for _, a := range e.Accesses {
			if !first[a.Loc] && !a.Internal {
				first[a.Loc] = true
				v := Var{Name: a.Loc, Group: shared}
				if !a.Write {
					v.Value = a.Value
				}
				r.enter(v)
			}
		}
	}
}

// enterPropositions enters them as variables, with their initial values.
func (r *reader) enterPropositions() {
	j := r.j
	r.props = make([]int, len(j.Propositions))
	for i, name := range j.Propositions {
		v := Var{Name: name, Group: "propositions"}
		if len(j.Values) > 0 && i < len(j.Values[0]) {
			v.Value = strconv.FormatBool(j.Values[0][i])
		}
		r.props[i] = r.enter(v)
	}
}

// row makes the row of a step.
func (r *reader) row(k int) Row {
	j, e := r.j, &r.j.Trace[k]
	row := Row{Column: r.columnOf(e.Thread), Pos: parsePlace(e.Pos), Text: e.Text,
		Deeds: e.Deeds, Accesses: []Access{}, Set: []Value{}, alt: e.Alt}
	for _, c := range e.Calls {
		row.Calls = append(row.Calls, Call{c.Func, parsePlace(c.Pos)})
	}
	r.addArrows(k, row.Column)
	var touches []touch
	for _, a := range e.Accesses {
		touches = append(touches, touch{a.Loc, a.Write})
		if !a.Internal {
			row.Accesses = append(row.Accesses, Access{a.Loc, a.Write, a.Value})
		}
	}
	row.Depends = r.ord.add(row.Column, touches)
	if r.whole {
		r.setAll(&row, shared, j.States[k+1].Shared)
		for _, name := range slices.Sorted(maps.Keys(j.States[k+1].Threads)) {
			t := j.States[k+1].Threads[name]
			row.Next = append(row.Next, kept(&t, r.columnOf(name)))
			r.setAll(&row, name, t.Locals)
		}
	} else {
		for _, a := range row.Accesses {
			r.set(&row, r.index[shared+"\x00"+a.Loc], a.Value)
		}
		r.setAll(&row, e.Thread, e.Locals)
	}
	if k+1 < len(j.Values) {
		for i, v := range j.Values[k+1] {
			if i < len(r.props) {
				r.set(&row, r.props[i], strconv.FormatBool(v))
			}
		}
	}
	if k == len(j.Trace)-1 && j.Message != "" && j.Loop == nil {
		row.Violation = r.d.Title
	}
	return row
}

// addArrows adds the arrows of the messages of a step, which stands in a column.
func (r *reader) addArrows(k, column int) {
	for _, m := range r.j.Trace[k].Messages {
		switch text := m.Channel + ": " + m.Value; {
		case m.With != "":
			r.d.Arrows = append(r.d.Arrows, within(k, column, r.columnOf(m.With),
				m.Kind == "send", text, m.Value))
		case m.Kind == "receive" && m.Step > 0 && m.Step <= k:
			r.d.Arrows = append(r.d.Arrows, Arrow{From: m.Step - 1, To: k, Text: text})
		}
	}
}

// setAll sets variables of a group, which are entered if they are new.
func (r *reader) setAll(row *Row, group string, values map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		r.set(row, r.enter(Var{Name: name, Group: group}), values[name])
	}
}

func (r *reader) columnOf(name string) int {
	c, ok := r.column[name]
	if !ok {
		c = len(r.d.Columns)
		r.column[name] = c
		r.d.Columns = append(r.d.Columns, name)
	}
	return c
}

// enter returns the index of a variable, which gets its value if it is new.
func (r *reader) enter(v Var) int {
	key := v.Group + "\x00" + v.Name
	i, ok := r.index[key]
	if !ok {
		i = len(r.d.Vars)
		r.index[key] = i
		r.d.Vars = append(r.d.Vars, v)
		r.now = append(r.now, v.Value)
	}
	return i
}

func (r *reader) set(row *Row, i int, value string) {
	if r.now[i] != value {
		r.now[i] = value
		row.Set = append(row.Set, Value{i, value})
	}
}

// Restore executes the executions of a file on its program, so that everything is to
// be seen of them and one can continue from there. Those that do not fit the program stay
// as they are, with a note that says why.
func (k *Kept) Restore(ctx context.Context, x *Explorer) {
	for i, d := range k.Documents {
		if ctx.Err() != nil {
			return
		}
		full, err := x.restored(d)
		if err != nil {
			d.Notes = append(d.Notes, "Showing only the contents of the file: "+err.Error())
			continue
		}
		if d.Loop < 0 && d.Kind != "deadlock" && full.broken() == "" {
			d.Notes = append(d.Notes, "Showing only the contents of the file: "+x.File+
				" violates nothing at the end of this execution; "+otherModel)
			continue
		}
		full.Kind, full.Message, full.Pos, full.Title, full.Loop = d.Kind, d.Message, d.Pos,
			d.Title, d.Loop
		full.Notes = append(full.Notes, without(d.Notes, full.Notes)...)
		full.addPropositions(d)
		k.Documents[i] = full
	}
}

// RestoreSchedule executes the only execution of a file, whose schedule is known, so that
// everything is to be seen of it: in sys, the system that it was found in. One can continue
// from there if x can execute it, too, which is what goOn says; its system may look for less.
// The error says that the execution does not fit sys.
func (k *Kept) RestoreSchedule(x *Explorer, sys system.System, t *trace.Trace) (goOn bool,
	err error) {
	d := k.Documents[0]
	obs := system.ObserversOf(sys)
	full, err := play(sys, &obs, t)
	if err == nil {
		err = fits(d, full)
	}
	if err != nil {
		return false, err
	}
	full.Kind, full.Message, full.Pos, full.Title = d.Kind, d.Message, d.Pos, d.Title
	full.History = d.History
	full.Notes = append(full.Notes, without(d.Notes, full.Notes)...)
	if n := len(full.Rows); n > 0 {
		full.Rows[n-1].Violation = d.Title
	}
	k.Documents[0] = full
	if by, err := x.Play(*full.Path); err == nil && fits(full, by) == nil {
		return true, nil
	}
	full.Path = nil
	return false, nil
}

// fits says why the steps of two documents are not the same.
func fits(d, other *Document) error {
	if len(d.Rows) != len(other.Rows) {
		return fmt.Errorf("it has %d steps, not %d", len(other.Rows), len(d.Rows))
	}
	for k := range d.Rows {
		a, b := &d.Rows[k], &other.Rows[k]
		if a.Text != b.Text || a.Pos.Line != b.Pos.Line ||
			d.Columns[a.Column] != other.Columns[b.Column] {
			return fmt.Errorf("step %d is %q of %s (line %d), not %q of %s (line %d)", k+1, b.Text,
				other.Columns[b.Column], b.Pos.Line, a.Text, d.Columns[a.Column], a.Pos.Line)
		}
	}
	return nil
}

// broken says what the last state violates.
func (d *Document) broken() string {
	if n := len(d.Rows); n > 0 {
		return d.Rows[n-1].Violation
	}
	return d.Violation
}

// restored executes the steps of a document, whose threads have names only.
func (x *Explorer) restored(d *Document) (*Document, error) {
	sys := x.Program.System
	states := sys.Initial()
	if d.initial < 0 || d.initial >= len(states) {
		return nil, fmt.Errorf("it begins in initial state %d, and %s has %d", d.initial, x.File,
			len(states))
	}
	m := sys.NewMachine()
	m.Load(states[d.initial])
	p := Path{Initial: d.initial}
	for k := range d.Rows {
		row := &d.Rows[k]
		t := 0
		for t < m.NumThreads() && m.ThreadName(t) != d.Columns[row.Column] {
			t++
		}
		if t == m.NumThreads() {
			return nil, fmt.Errorf("at step %d, %s has no thread %s", k+1, x.File,
				d.Columns[row.Column])
		}
		if pos, text, _ := m.Next(t); placeOf(pos).Line != row.Pos.Line && text != row.Text {
			return nil, fmt.Errorf("at step %d, %s would execute %q (line %d); %s", k+1,
				d.Columns[row.Column], text, pos.Line, otherModel)
		}
		if out := m.Step(t, row.alt); out.Kind != system.Moved {
			return nil, fmt.Errorf("step %d cannot be executed in %s: %s is %v; %s", k+1, x.File,
				d.Columns[row.Column], out.Kind, otherModel)
		}
		p.Steps = append(p.Steps, Step{uint64(t), row.alt})
	}
	full, err := x.Play(p)
	if err != nil {
		return nil, err
	}
	for k := range full.Rows {
		if got := full.Rows[k].Text; got != d.Rows[k].Text {
			return nil, fmt.Errorf("step %d of %s is %q; %s", k+1, x.File, got, otherModel)
		}
	}
	return full, nil
}

// otherModel is why an execution does not fit a program.
const otherModel = "the model or its constants have changed since"

// without returns the notes of a list that another one has not.
func without(notes, others []string) []string {
	return slices.DeleteFunc(slices.Clone(notes), func(n string) bool {
		return slices.Contains(others, n)
	})
}

// addPropositions takes over the values of propositions.
func (d *Document) addPropositions(of *Document) {
	index := map[int]int{}
	for i, v := range of.Vars {
		if v.Group == "propositions" {
			index[i] = len(d.Vars)
			d.Vars = append(d.Vars, v)
		}
	}
	for k := range of.Rows {
		for _, s := range of.Rows[k].Set {
			if i, ok := index[s.Var]; ok {
				d.Rows[k].Set = append(d.Rows[k].Set, Value{i, s.Value})
			}
		}
	}
}
