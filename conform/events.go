package conform

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"cpor/detect/computation"
	"cpor/system"
)

// history is what is known of the log.
type history struct {
	names []string
	index map[string]int32
	hosts []hostLog
	total int32 // the mapped events
	ended bool  // no more events come
}

// hostLog has the mapped events of a host, counted from 0. Those before base were dropped.
type hostLog struct {
	events []event
	base   int32
	lost   bool // the log may lack its end
}

func newHistory(names []string, lost func(host string) bool) *history {
	h := &history{names: names, index: map[string]int32{}, hosts: make([]hostLog, len(names))}
	for i, name := range names {
		h.index[name] = int32(i)
		h.hosts[i].lost = lost != nil && lost(name)
	}
	return h
}

// count returns how many mapped events the host has.
func (l *hostLog) count() int32 { return l.base + int32(len(l.events)) }

// at returns event k, nil if there is none, or not yet.
func (l *hostLog) at(k int32) *event {
	if i := int(k - l.base); i < len(l.events) {
		return &l.events[i]
	}
	return nil
}

// before returns how many of the mapped events are among the first k of the host.
func (l *hostLog) before(k int32) int32 {
	n := sort.Search(len(l.events), func(i int) bool { return l.events[i].Index > k })
	return l.base + int32(n)
}

// event is an event of the log that the mapping maps.
type event struct {
	Index int32 `json:"index"` // among all events of its host, from 1
	// Clock is that of the log: how many events of each host, mapped or not, it depends on.
	Clock computation.Cut `json:"clock"`
	// Fits are the rules that the text and the variables fit, with the values of the names; nil
	// without rules: then Text has to be what is printed.
	Fits   []fit    `json:"fits,omitempty"`
	Text   string   `json:"text"`
	Values []wanted `json:"values,omitempty"`
}

type fit struct {
	Rule  int     `json:"rule"` // in Mapping.Events
	Names binding `json:"names,omitempty"`
}

// wanted is a value that a variable of the model must have after an event.
type wanted struct {
	Rule  int    `json:"rule"` // in Mapping.Values
	Value string `json:"value"`
}

// history returns the events of a log that are mapped, how many are not, and the text of the first
// of those.
func (m *Mapping) history(c *computation.Computation, lost func(string) bool) (h *history,
	unmapped int, first string) {
	h = newHistory(c.Names(), lost)
	h.ended = true
	for p := range h.hosts {
		names := m.hostNames(c.Name(p))
		for k := int32(1); k <= c.Events(p); k++ {
			value := func(name string) (string, bool) { return written(c.Value(p, k, name)) }
			if e, ok := m.event1(c.Text(p, k), value, names); ok {
				e.Index, e.Clock = k, c.Clock(p, k)
				h.hosts[p].events = append(h.hosts[p].events, e)
				h.total++
				continue
			}
			if unmapped++; unmapped == 1 {
				first = c.Text(p, k)
			}
		}
	}
	return h, unmapped, first
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

// event1 maps an event; value returns the values of the log's variables after it, and names are
// those of the host.
func (m *Mapping) event1(text string, value func(string) (string, bool),
	names binding) (event, bool) {
	e := event{Text: strings.TrimSpace(text)}
	for i := range m.Events {
		r := &m.Events[i]
		b, ok := r.Log.match(e.Text, names)
		for _, w := range r.With {
			if ok {
				v, defined := value(w.Name)
				b, ok = w.has(v, defined, b)
			}
		}
		if ok {
			e.Fits = append(e.Fits, fit{i, b})
		}
	}
	if len(m.Events) > 0 && e.Fits == nil {
		return e, false
	}
	for i := range m.Values {
		if v, ok := value(m.Values[i].Name); ok {
			e.Values = append(e.Values, wanted{i, v})
		}
	}
	return e, true
}

// has reports whether the log's value of a variable fits. One that the log does not give fits
// {name}, and says nothing about the name.
func (r *ValueRule) has(v string, defined bool, names binding) (binding, bool) {
	if !defined {
		return names, len(r.Value.names) == 1 && strings.Join(r.Value.parts, "") == ""
	}
	return r.Value.match(v, names)
}

// written is a value of the log as a model prints it, strings without quotation marks; false if
// the variable has none.
func written(v computation.Value) (string, bool) {
	switch {
	case !v.Defined():
		return "", false
	case v.Kind() == computation.String:
		return v.Text(), true
	}
	return v.String(), true
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

// matches says why deed d, which the machine's last step did, is not the event; nil if it is.
func (w *walker) matches(e *event, d *deed) error {
	if e.Fits == nil {
		if strings.TrimSpace(d.Value) != e.Text {
			return fmt.Errorf("the log has %q", e.Text)
		}
		return w.compare(e, d.thread, nil)
	}
	var last error
	for _, f := range e.Fits {
		names, err := w.mapping.Events[f.Rule].explain(&d.Deed, f.Names)
		if err == nil {
			err = w.compare(e, d.thread, names)
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
func (w *walker) compare(e *event, t int, names binding) error {
	if len(e.Values) == 0 {
		return nil
	}
	shared := w.m.Capabilities().Showing.Variables()
	for _, x := range e.Values {
		rule := &w.mapping.Values[x.Rule]
		name, ok := rule.Model.fill(names)
		if !ok {
			return fmt.Errorf("nothing says what the names in %q are", rule.Model.Source)
		}
		v, ok := lookUp(name, w.m.Locals(t), shared)
		if !ok {
			return fmt.Errorf("the model has no variable %s", name)
		}
		if !equalValues(v, x.Value) {
			return fmt.Errorf("%s is %s, and the log has %s = %s", name, v, rule.Name, x.Value)
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
