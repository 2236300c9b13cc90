package promela

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cpor/frontend"
	"cpor/frontend/promela/machine"
	"cpor/frontend/promela/program"
	"cpor/system"
)

// trails writes and reads trails in SPIN's format of a model and its properties.
type trails struct {
	p     *program.Program
	s     *machine.System
	props []frontend.Property
}

// property returns the property of a name; nil if there is none.
func (t trails) property(name string) *frontend.Property {
	i := slices.IndexFunc(t.props, func(q frontend.Property) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return &t.props[i]
}

// about returns the system of a property.
func (t trails) about(q *frontend.Property) *machine.System {
	if s, ok := q.System.(*machine.System); ok {
		return s
	}
	return t.s
}

// claimType returns the number that SPIN gives to the claim of a property; -1 if it has none.
func (t trails) claimType(name string) int {
	for _, c := range t.p.Claims {
		if c.Name == name {
			return c.Type
		}
	}
	for i, l := range t.p.LTLs {
		if l.Name == name {
			return t.p.Types() - len(t.p.LTLs) + i
		}
	}
	if name == "progress" {
		return t.p.Types()
	}
	return -1
}

// write is frontend.Program.WriteTrail.
func (t trails) write(w io.Writer, x *frontend.Execution) error {
	s, claim, loop := t.s, -1, x.Loop
	if len(x.Properties) > 0 {
		q := &x.Properties[0]
		s, claim = t.about(q), t.claimType(q.Name)
		if claim < 0 && loop == len(x.Steps) {
			loop = -1 // a state that stays is the end of the trail
		}
		if loop < 0 && q.System == nil && x.Violation != nil {
			claim = -1 // it has nothing to do with the formula
		}
	}
	return s.WriteTrail(w, x.Steps, loop, claim, x.Violation)
}

// read reads a trail of a program. The error names the line.
func read(p *program.Program, o machine.Options, of *frontend.Program,
	text string) (*frontend.Execution, error) {
	trail, err := machine.ParseTrail(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if !trail.Reversed {
		x, err := trails{p, of.System.(*machine.System),
			slices.DeleteFunc(slices.Clone(of.Properties), func(q frontend.Property) bool {
				return q.Refused != nil
			})}.read(trail)
		if err == nil {
			return x, nil
		}
		// pan -i_reverse writes no mark.
		if x, err := readReversed(p, o, of, trail); err == nil {
			return x, nil
		}
		return nil, err
	}
	return readReversed(p, o, of, trail)
}

// readReversed reads a trail of a verifier that creates the initial processes in reverse order.
// It is a trail of another system, which it stores in of.
func readReversed(p *program.Program, o machine.Options, of *frontend.Program,
	trail *machine.Trail) (*frontend.Execution, error) {
	back := *p
	back.Actives = slices.Clone(p.Actives)
	slices.Reverse(back.Actives)
	s, props, err := build(&back, o, o)
	if err != nil {
		return nil, err
	}
	t := trails{&back, s, props}
	x, err := t.read(trail)
	if err != nil {
		return nil, err
	}
	of.System, of.Properties, of.WriteTrail = s, props, t.writeReversed
	x.Note = "The processes of the initial state have the numbers of pan -p_... or -i_reverse: " +
		"from the last to the first."
	return x, nil
}

// writeReversed refuses to write a trail.
func (t trails) writeReversed(io.Writer, *frontend.Execution) error {
	return errors.New("a trail in which the processes of the initial state are made from the " +
		"last to the first is not written: spin -t refuses it")
}

// read reads a trail.
func (t trails) read(trail *machine.Trail) (*frontend.Execution, error) {
	q, err := t.claim(trail)
	if err != nil {
		return nil, err
	}
	var props []frontend.Property
	s := t.s
	if q != nil && isAbout(trail, q) {
		s = t.about(q)
		props = append(props, *q)
	}
	f, err := s.Follow(trail)
	if err != nil {
		return nil, err
	}
	x := &frontend.Execution{Trace: f.Trace, System: s, Loop: f.Loop, Open: f.Open}
	if f.Aside {
		x.System = t.s
	}
	if q != nil && trail.Follows && isDeadlock(x.Violation) {
		x.Violation = nil // with a claim, an execution may end
	}
	switch {
	case x.Open != "" || x.Violation != nil:
		return x, nil
	case q == nil && x.Loop < 0 && t.s.Stays(f.Trace):
		x.Loop = len(x.Steps)
	case x.Loop < 0 && (q == nil || q.Kind != ""):
		return x, nil // only a formula is violated by what is finite, and not by one step
	}
	if q == nil || q.Kind == "" {
		props = append(props, t.acceptance(x)...)
	}
	x.Properties = props
	return x, nil
}

// isAbout reports whether a trail with the claim of a property shows something of it.
func isAbout(trail *machine.Trail, q *frontend.Property) bool {
	return q.Kind == "" || trail.Follows || trail.HasCycle()
}

func isDeadlock(v *system.Violation) bool { return v != nil && v.Kind == system.Deadlock }

// acceptance returns the property that accept labels of processes stand for, which SPIN's verifier
// reports beside a formula, too; none if the execution has no cycle.
func (t trails) acceptance(x *frontend.Execution) []frontend.Property {
	p := t.property("no-acceptance")
	if p == nil || x.Loop < 0 {
		return nil
	}
	a := *p
	a.System = x.System
	return []frontend.Property{a}
}

// claim returns the property whose claim a trail has; nil for none.
func (t trails) claim(trail *machine.Trail) (*frontend.Property, error) {
	number := trail.Claim
	if number < 0 {
		return nil, nil
	}
	var have []string
	for i := range t.props {
		q := &t.props[i]
		k := t.claimType(q.Name)
		if k == number && (!trail.Follows || q.Kind == "" || t.about(q).ClaimHas(trail.Moved)) {
			return q, nil
		}
		if k >= 0 {
			have = append(have, fmt.Sprintf("%d for %s", k, q.Name))
		}
	}
	why := fmt.Sprintf("the claim of the trail is process type number %d", number)
	if trail.Follows {
		why += fmt.Sprintf(", with a statement number %d", trail.Moved)
	}
	for _, pr := range t.p.Procs {
		if pr.Type == number {
			why += ", which is " + pr.Name + " here"
		}
	}
	if len(have) > 0 {
		why += "; there are " + strings.Join(have, ", ")
	}
	return nil, fmt.Errorf("%s; the trail is one of another model, or of a claim in another "+
		"file, which -claim FILE adds", why)
}
