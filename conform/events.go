package conform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/detect/computation"
	"cpor/system"
)

// event is an event of the log that the mapping maps.
type event struct {
	index int32   // of the computation, from 1
	needs []int32 // by host: how many of its mapped events it depends on
	// fits are the rules that the text and the variables fit, with the values of the names; nil
	// without rules: then text has to be what is printed.
	fits   []fit
	text   string
	values []wanted
}

type fit struct {
	rule  *EventRule
	names binding
}

// wanted is a value that a variable of the model must have after an event.
type wanted struct {
	rule  *ValueRule
	value string
}

// events returns for each host its events that are mapped, and how many are not.
func (m *Mapping) events(c *computation.Computation) (hosts [][]event, unmapped int) {
	hosts = make([][]event, c.N())
	mapped := make([][]int32, c.N()) // by host and local state: how many are mapped so far
	for h := range hosts {
		names := m.hostNames(c.Name(h))
		mapped[h] = make([]int32, c.States(h))
		for k := int32(1); k <= c.Events(h); k++ {
			e, ok := m.event1(c, h, k, names)
			mapped[h][k] = mapped[h][k-1]
			if !ok {
				unmapped++
				continue
			}
			mapped[h][k]++
			hosts[h] = append(hosts[h], e)
		}
	}
	for h := range hosts {
		for i := range hosts[h] {
			e := &hosts[h][i]
			e.needs = make([]int32, c.N())
			for g, k := range c.Clock(h, e.index) {
				if g != h {
					e.needs[g] = mapped[g][k]
				}
			}
		}
	}
	return hosts, unmapped
}

// hostNames returns the names that the rules of a host give it.
func (m *Mapping) hostNames(host string) binding {
	for _, r := range m.Hosts {
		if b, ok := r.Host.match(host, nil); ok {
			return b
		}
	}
	return nil
}

// event1 maps event k of host h; names are those of the host.
func (m *Mapping) event1(c *computation.Computation, h int, k int32, names binding) (event, bool) {
	e := event{index: k, text: strings.TrimSpace(c.Text(h, k))}
	for i := range m.Events {
		r := &m.Events[i]
		b, ok := r.Log.match(e.text, names)
		for _, w := range r.With {
			if ok {
				b, ok = w.has(c.Value(h, k, w.Name), b)
			}
		}
		if ok {
			e.fits = append(e.fits, fit{r, b})
		}
	}
	if len(m.Events) > 0 && e.fits == nil {
		return e, false
	}
	for i := range m.Values {
		r := &m.Values[i]
		if v := c.Value(h, k, r.Name); v.Defined() {
			e.values = append(e.values, wanted{r, written(v)})
		}
	}
	return e, true
}

// has reports whether the log's value of a variable fits. One that the log does not give fits
// {name}, and says nothing about the name.
func (r *ValueRule) has(v computation.Value, names binding) (binding, bool) {
	if !v.Defined() {
		return names, len(r.Value.names) == 1 && strings.Join(r.Value.parts, "") == ""
	}
	return r.Value.match(written(v), names)
}

// written is a value of the log as a model prints it: strings without quotation marks.
func written(v computation.Value) string {
	if v.Kind() == computation.String {
		return v.Text()
	}
	return v.String()
}

// deed is a visible deed, and the thread that did it.
type deed struct {
	system.Deed
	thread int
}

// visible appends what of the deeds of a step of thread t is an event according to the mapping.
func (m *Mapping) visible(dst []deed, story *system.Story, t int) []deed {
	for _, d := range story.Deeds {
		if m.maps(&d) {
			dst = append(dst, deed{d, t})
		}
		if !d.Direct {
			continue
		}
		// The step did both ends.
		other := d
		if other.Kind = system.Receive; d.Kind == system.Receive {
			other.Kind = system.Send
		}
		if m.maps(&other) {
			dst = append(dst, deed{other, d.With})
		}
	}
	return dst
}

// maps reports whether a deed is visible.
func (m *Mapping) maps(d *system.Deed) bool {
	if len(m.Events) == 0 {
		return d.Kind == system.Print
	}
	return slices.ContainsFunc(m.Events, func(r EventRule) bool {
		_, err := r.explain(d, nil)
		return err == nil
	})
}

var errOther = errors.New("is another kind of step")

// explain returns the names after the right side was matched with a deed, or why it does not fit.
func (r *EventRule) explain(d *system.Deed, names binding) (binding, error) {
	if r.Kind != d.Kind {
		return nil, errOther
	}
	b, ok := r.Channel.match(d.Channel, names)
	if !ok {
		if _, free := r.Channel.match(d.Channel, nil); free {
			return nil, differs(r.Channel, d.Channel, names)
		}
		return nil, errOther
	}
	if c, ok := r.Text.match(strings.TrimSpace(d.Value), b); ok {
		return c, nil
	}
	if _, free := r.Text.match(strings.TrimSpace(d.Value), nil); free {
		return nil, differs(r.Text, strings.TrimSpace(d.Value), b)
	}
	return nil, errOther
}

// differs says which names have other values in s than in the log.
func differs(p *Pattern, s string, names binding) error {
	model, _ := p.match(s, nil)
	var parts []string
	for _, b := range model {
		if v, ok := names.value(b.Name); ok && !equalValues(v, b.Value) {
			parts = append(parts, fmt.Sprintf("%s is %s, and the log has %s", b.Name, b.Value, v))
		}
	}
	return errors.New(strings.Join(parts, "; "))
}

// matches reports whether deed d of thread t, which the machine's last step did, is the event.
func (e *event) matches(m system.Machine, d *deed) error {
	var last error
	if e.fits == nil {
		if strings.TrimSpace(d.Value) != e.text {
			return fmt.Errorf("the log has %q", e.text)
		}
		return e.compare(m, d.thread, nil)
	}
	for _, f := range e.fits {
		names, err := f.rule.explain(&d.Deed, f.names)
		if err == nil {
			err = e.compare(m, d.thread, names)
		}
		if err == nil {
			return nil
		}
		if last == nil || errors.Is(last, errOther) {
			last = err
		}
	}
	return last
}

// compare compares the values that the log shows with those of the live state.
func (e *event) compare(m system.Machine, t int, names binding) error {
	if len(e.values) == 0 {
		return nil
	}
	var shared []system.Binding
	if s := m.Capabilities().Showing; s != nil {
		shared = s.Variables()
	}
	for _, w := range e.values {
		name, ok := w.rule.Model.fill(names)
		if !ok {
			return fmt.Errorf("nothing says what the names in %q are", w.rule.Model.Source)
		}
		v, ok := lookUp(name, m.Locals(t), shared)
		if !ok {
			return fmt.Errorf("the model has no variable %s", name)
		}
		if !equalValues(v, w.value) {
			return fmt.Errorf("%s is %s, and the log has %s = %s", name, v, w.rule.Name, w.value)
		}
	}
	return nil
}

// lookUp returns the value of a variable.
func lookUp(name string, lists ...[]system.Binding) (string, bool) {
	for _, l := range lists {
		for _, b := range l {
			if b.Name == name {
				return b.Value, true
			}
		}
	}
	return "", false
}
