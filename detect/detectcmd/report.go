package detectcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	"cpor/internal/human"
	"cpor/internal/layout"
	"cpor/internal/terminal"

	"github.com/jedib0t/go-pretty/v6/table"
)

// report is the answer for one execution, as -json prints it.
type report struct {
	Log     string   `json:"log"`
	Trace   string   `json:"trace,omitempty"`
	Hosts   []string `json:"hosts"`
	Events  int      `json:"events"`
	Repairs int      `json:"repairs"`
	// IgnoredLines are the lines of the log that no event is in.
	IgnoredLines int `json:"ignored_lines"`
	// Unassigned has the hosts that never assign a variable of the predicate, by
	// variable: it is undefined there.
	Unassigned map[string][]string `json:"unassigned,omitempty"`
	// NoValue says which operands of the predicate have no value in some state.
	NoValue   []string   `json:"no_value,omitempty"`
	Modality  string     `json:"modality"`
	Predicate string     `json:"predicate"`
	Conjuncts []conjunct `json:"conjuncts,omitempty"`
	Algorithm string     `json:"algorithm"`
	// possible, impossible, definite, not definite, holds, fails, found, not found,
	// incomplete, does not apply
	Verdict    string `json:"verdict"`
	Exhaustive bool   `json:"exhaustive"`
	Reason     string `json:"reason"`

	States      int64   `json:"states"`
	Transitions int64   `json:"transitions"`
	Single      int64   `json:"single_transitions"`
	StoreBytes  int64   `json:"store_bytes"`
	DurationMS  float64 `json:"duration_ms"`
	ReadMS      float64 `json:"read_ms"`

	LatticeStates int64   `json:"lattice_states"` // counted, as far as -count
	LatticeExact  bool    `json:"lattice_exact"`
	LatticeBound  float64 `json:"lattice_bound"` // product of the local states

	Witness       *witness `json:"witness,omitempty"`
	Linearisation []step   `json:"linearisation,omitempty"`
	Observation   []step   `json:"observation,omitempty"`
	// Marks says what holds along the observation, which is the evidence for a pattern or
	// an occurrence of a chart.
	Marks []mark `json:"marks,omitempty"`

	code  int
	c     *computation.Computation
	n     *predicate.Node
	res   *detect.Result
	order []computation.Event
	from  int             // the first of the order that is printed
	near  int             // how many events are printed around a mark; 0: all
	cut   computation.Cut // the witness, or at the first mark; for pictures
}

// mark is something that holds from after so many events of the observation on.
type mark struct {
	After int    `json:"after"`
	Text  string `json:"text"`
}

type conjunct struct {
	Part    int      `json:"part"` // of the disjunction, from 1
	Text    string   `json:"text"`
	Support []string `json:"support"`
}

type witness struct {
	Cut []localState `json:"cut"`
}

// localState is the local state of one process in the witness.
type localState struct {
	Host  string                       `json:"host"`
	State int32                        `json:"state"` // number of events before it
	Vars  map[string]computation.Value `json:"vars"`
	Event string                       `json:"event,omitempty"` // just before it
	Pos   string                       `json:"pos,omitempty"`
}

type step struct {
	Host  string `json:"host"`
	Index int32  `json:"index"`
	Text  string `json:"text"`
	Pos   string `json:"pos"`
}

func newReport(f *detectFlags, c *computation.Computation, n *predicate.Node, res *detect.Result,
	elapsed time.Duration) *report {
	r := &report{
		Trace: c.Label(), Hosts: c.Names(), Events: c.TotalEvents(), Modality: f.modality.String(),
		Predicate: f.predicate,
		Algorithm: res.Algorithm, Exhaustive: res.Exhaustive, Reason: res.Reason,
		States: res.Stats.States, Transitions: res.Stats.Transitions, Single: res.Stats.Events,
		StoreBytes: res.Stats.StoreBytes,
		DurationMS: ms(elapsed), LatticeBound: res.LatticeBound, c: c, n: n, res: res,
	}
	r.unassigned()
	r.NoValue = withoutValue(c, n)
	alarm := res.Holds == (res.Modality == detect.Poss || res.Modality == detect.Chart)
	verdicts := [...][2]string{detect.Poss: {"impossible", "possible"},
		detect.Def: {"not definite", "definite"}, detect.Pattern: {"fails", "holds"},
		detect.Chart: {"not found", "found"}}
	switch {
	case !res.Exhaustive:
		r.code, r.Verdict = exitIncomplete, "incomplete"
	case res.Holds:
		r.Verdict = verdicts[res.Modality][1]
	default:
		r.Verdict = verdicts[res.Modality][0]
	}
	if res.Exhaustive && alarm {
		r.code = exitAlarm
	}
	if f.explain {
		for x, conj := range res.Conjunctions {
			for _, cl := range conj.Clauses {
				var support []string
				for _, i := range cl.Support {
					support = append(support, c.Name(i))
				}
				r.Conjuncts = append(r.Conjuncts, conjunct{x + 1, cl.String(), support})
			}
		}
	}
	switch {
	case res.Witness != nil:
		r.Witness, r.cut = &witness{}, res.Witness
		for i, k := range res.Witness {
			ls := localState{Host: c.Name(i), State: k, Vars: map[string]computation.Value{}}
			for _, v := range c.Variables(i) {
				if x := c.Values().Value(v.At(k)); x.Defined() {
					ls.Vars[v.Name] = x
				}
			}
			if k > 0 {
				ls.Event, ls.Pos = c.Text(i, k), c.Pos(i, k).String()
			}
			r.Witness.Cut = append(r.Witness.Cut, ls)
		}
		r.order = c.Linearise(c.Initial(), res.Witness)
		r.Linearisation = r.stepsOf(f.steps)
	case res.Observation != nil:
		r.order = res.Observation
		r.Observation = r.stepsOf(f.steps)
	case res.Run != nil:
		r.evidence(res.Run, f.steps)
	}
	return r
}

// evidence shows a run from before its first mark to after its last one.
func (r *report) evidence(run *detect.Run, steps int) {
	r.order = run.Order
	for _, m := range run.Marks {
		r.Marks = append(r.Marks, mark{m.After, m.Text})
	}
	if len(r.Marks) == 0 {
		return
	}
	r.cut = r.c.Initial()
	for _, e := range r.order[:r.Marks[0].After] {
		r.cut[e.Process] = e.Index
	}
	to := len(r.order)
	if steps > 0 {
		r.near = max(1, steps/2/len(r.Marks))
		r.from = max(0, r.Marks[0].After-r.near)
		to = min(to, r.Marks[len(r.Marks)-1].After+r.near)
	}
	r.Observation = r.stepsFrom(r.from, to)
}

// unassigned finds the variables of the predicate that hosts never assign.
func (r *report) unassigned() {
	var walk func(n *predicate.Node)
	walk = func(n *predicate.Node) {
		if n.Op == predicate.Var && r.c.Variable(n.Process, n.Name) == nil &&
			!slices.Contains(r.Unassigned[n.Name], n.Host) {
			if r.Unassigned == nil {
				r.Unassigned = map[string][]string{}
			}
			r.Unassigned[n.Name] = append(r.Unassigned[n.Name], n.Host)
		}
		for _, k := range n.Kids {
			walk(k)
		}
	}
	walk(r.n)
}

// stepsOf returns the last n steps, all of them if n is 0.
func (r *report) stepsOf(n int) []step {
	from := 0
	if n > 0 && len(r.order) > n {
		from = len(r.order) - n
	}
	return r.stepsFrom(from, len(r.order))
}

func (r *report) stepsFrom(from, to int) []step {
	steps := make([]step, to-from)
	for x, e := range r.order[from:to] {
		steps[x] = step{r.c.Name(e.Process), e.Index, r.c.Text(e.Process, e.Index),
			r.c.Pos(e.Process, e.Index).String()}
	}
	return steps
}

func writeJSON(w io.Writer, reports []*report, many bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if many {
		return enc.Encode(reports)
	}
	return enc.Encode(reports[0])
}

func (r *report) answer() string {
	question := map[string]string{"poss": "possibly", "def": "definitely", "pattern": "pattern",
		"chart": "chart"}[r.Modality]
	switch {
	case !r.res.Exhaustive:
		return fmt.Sprintf("%s: unknown (%s)", question, r.Reason)
	case r.res.Modality == detect.Pattern || r.res.Modality == detect.Chart:
		return question + ": " + r.Verdict
	case r.res.Holds:
		return question + ": yes"
	}
	return question + ": no"
}

func (r *report) title() string { return r.answer() + " — " + r.Predicate }

// labels returns for each process of the predicate's support the values that
// its variables have in the witness.
func (r *report) labels() []string {
	if r.res.Witness == nil {
		return nil
	}
	labels := make([]string, r.c.N())
	seen := map[string]bool{}
	var walk func(n *predicate.Node)
	walk = func(n *predicate.Node) {
		if n.Op == predicate.Var && !seen[n.String()] {
			seen[n.String()] = true
			i := n.Process
			if labels[i] != "" {
				labels[i] += "  "
			}
			labels[i] += fmt.Sprintf("%s=%v", n.Name, r.c.Value(i, r.res.Witness[i], n.Name))
		}
		for _, k := range n.Kids {
			walk(k)
		}
	}
	walk(r.n)
	return labels
}

func (r *report) print(w io.Writer, f *detectFlags) error {
	out := &strings.Builder{}
	page := terminal.For(w, f.color)
	fmt.Fprintf(out, "log        %s", r.Log)
	if r.Trace != "" {
		fmt.Fprintf(out, ", execution %s", r.Trace)
	}
	fmt.Fprintf(out, ": %d hosts, %s events\n", len(r.Hosts), human.Count(r.Events))
	what := "predicate"
	if r.Modality == "pattern" || r.Modality == "chart" {
		what = r.Modality
	}
	fmt.Fprintf(out, "%-9s  %s\n", what, r.Predicate)
	if r.res == nil {
		fmt.Fprintf(out, "does not apply: %s\n", r.Reason)
		_, err := io.WriteString(w, out.String())
		return err
	}
	if f.explain {
		r.explain(out)
	}
	for _, v := range slices.Sorted(maps.Keys(r.Unassigned)) {
		fmt.Fprintf(out, "note       %s\n", undefinedOn(v, r.Unassigned[v]))
	}
	for _, note := range r.NoValue {
		fmt.Fprintf(out, "note       %s\n", note)
	}
	color := terminal.Bold
	if !r.res.Exhaustive {
		color = terminal.Unsure
	}
	fmt.Fprintf(out, "%s\n", page.Paint(color, r.answer()))
	labels := r.labels()
	if r.Witness != nil {
		fmt.Fprintln(out, "\nwitness cut")
		t := layout.NewTable()
		t.AppendHeader(table.Row{"host", "events", "where", "event just before", "at"})
		for i, ls := range r.Witness.Cut {
			host := page.Paint(terminal.Thread(i), ls.Host)
			t.AppendRow(table.Row{host, ls.State, labels[i], ls.Event, ls.Pos})
		}
		fmt.Fprintln(out, t.Render())
		r.printSteps(out, page, "linearization", r.Linearisation)
	}
	switch {
	case r.Marks != nil:
		r.printEvidence(out, page)
	case r.Observation != nil:
		r.printSteps(out, page, "observation that avoids the predicate", r.Observation)
	}
	fmt.Fprintf(out, "\nexplored   %s states, %s transitions (%s single ones) by %s in %s\n",
		human.Count(r.States), human.Count(r.Transitions),
		human.Count(r.Single), r.Algorithm, time.Duration(r.DurationMS*1e6).Round(
			10*time.Microsecond))
	fmt.Fprintf(out, "lattice    %s\n", r.lattice())
	_, err := io.WriteString(w, out.String())
	return err
}

// undefinedOn says which hosts never assign a variable of the predicate.
func undefinedOn(name string, hosts []string) string {
	return fmt.Sprintf("%s is undefined on %s, which never assign it", name, listed(hosts))
}

// listed names the hosts, the first few of many.
func listed(hosts []string) string {
	const most = 8
	if len(hosts) > most {
		return fmt.Sprintf("%s and %d more hosts", strings.Join(hosts[:most], ", "),
			len(hosts)-most)
	}
	return strings.Join(hosts, ", ")
}

func (r *report) lattice() string {
	switch {
	case r.LatticeStates > 0 && r.LatticeExact:
		return fmt.Sprintf("%s consistent global states, of which %s were avoided",
			human.Count(r.LatticeStates), human.Count(max(0, r.LatticeStates-r.States)))
	case r.LatticeStates > 0:
		return fmt.Sprintf("more than %s consistent global states, of which more than %s were "+
			"avoided (at most %.3g)",
			human.Count(r.LatticeStates), human.Count(max(0, r.LatticeStates-r.States)),
			r.LatticeBound)
	}
	return fmt.Sprintf("at most %.3g consistent global states", r.LatticeBound)
}

func (r *report) explain(out io.Writer) {
	parts := len(r.res.Conjunctions)
	t := layout.NewTable()
	header := table.Row{"conjunct", "support"}
	if parts > 1 {
		fmt.Fprintf(out, "a disjunction of %d parts, each a conjunction:\n", parts)
		header = append(table.Row{"part"}, header...)
	} else {
		fmt.Fprintln(out, "a conjunction:")
	}
	t.AppendHeader(header)
	for _, c := range r.Conjuncts {
		row := table.Row{c.Text, strings.Join(c.Support, " ")}
		if parts > 1 {
			row = append(table.Row{c.Part}, row...)
		}
		t.AppendRow(row)
	}
	fmt.Fprintln(out, t.Render())
}

func (r *report) printSteps(out io.Writer, page terminal.Page, what string, steps []step) {
	fmt.Fprintf(out, "\n%s, %s events", what, human.Count(len(r.order)))
	if len(steps) < len(r.order) {
		fmt.Fprintf(out, ", the last %d", len(steps))
	}
	fmt.Fprintln(out)
	t := layout.NewTable()
	for _, s := range steps {
		host := page.Paint(terminal.Thread(max(0, slices.Index(r.Hosts, s.Host))), s.Host)
		t.AppendRow(table.Row{host, s.Index, s.Text, s.Pos})
	}
	if len(steps) > 0 {
		fmt.Fprintln(out, t.Render())
	}
}

// printEvidence prints the steps with a line for each mark.
func (r *report) printEvidence(out io.Writer, page terminal.Page) {
	fmt.Fprint(out, "\none order of the events that shows it")
	if from, to := r.from, r.from+len(r.Observation); to-from < len(r.order) {
		fmt.Fprintf(out, ", from %d to %d of %s", from+1, to, human.Count(len(r.order)))
	}
	fmt.Fprintln(out)
	t := layout.NewTable()
	gap := false
	for x := 0; x <= len(r.Observation); x++ {
		shown := r.near == 0
		for _, m := range r.Marks {
			if m.After == r.from+x {
				t.AppendRow(table.Row{page.Paint(terminal.Bold, "•"), "",
					page.Paint(terminal.Bold, m.Text), ""})
			}
			shown = shown || m.After-r.near <= r.from+x && r.from+x < m.After+r.near
		}
		if shown && x < len(r.Observation) {
			s := r.Observation[x]
			host := page.Paint(terminal.Thread(max(0, slices.Index(r.Hosts, s.Host))), s.Host)
			t.AppendRow(table.Row{host, s.Index, s.Text, s.Pos})
		} else if !gap && x < len(r.Observation) {
			t.AppendRow(table.Row{"...", "", "", ""})
		}
		gap = !shown
	}
	fmt.Fprintln(out, t.Render())
}

// shiviz writes the log with the cut marked: each event says whether it is
// before the cut, the last before it, or after it.
func (r *report) shiviz(w io.Writer) error {
	order := r.order
	var prefix func(e computation.Event) string
	if cut := r.cut; cut != nil {
		order = append(r.c.Linearise(r.c.Initial(), cut), r.c.Linearise(cut, r.c.Final())...)
		prefix = func(e computation.Event) string {
			switch {
			case e.Index < cut[e.Process]:
				return "[before the cut] "
			case e.Index == cut[e.Process]:
				return "[AT THE CUT] "
			}
			return "[after the cut] "
		}
	}
	if order == nil {
		order = r.c.Linearise(r.c.Initial(), r.c.Final())
	}
	return logs.WriteShiViz(w, r.c, order, prefix)
}
