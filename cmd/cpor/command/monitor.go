//go:build !models && !gotests

package command

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"cpor/conform"
	"cpor/detect/computation"
	"cpor/detect/detectcmd"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
)

// followed is the model of `cpor monitor -model`.
type followed struct {
	e       *env
	c       conformConfig
	sys     system.System
	mapping *conform.Mapping
	about   string
	names   []string // of the hosts
	last    *conform.Monitor
}

// Define implements detectcmd.Model.
func (m *followed) Define(f *cliflag.Set) []string {
	m.c.params = map[string]string{}
	defineParams(f, m.c.params)
	m.c.defineMapping(f)
	return []string{"D", "U", "map", "lost"}
}

// Load implements detectcmd.Model.
func (m *followed) Load(file string) error {
	if file == "-" {
		return fmt.Errorf("the model must be in a file; only the events can be on standard input")
	}
	p, err := m.e.load(&file, frontend.Options{Params: m.c.params})
	if err != nil {
		return err
	}
	if m.mapping, err = m.c.readMapping(file); err != nil {
		return err
	}
	m.sys = p.System
	// A journal of another model or mapping would have forgotten the wrong things.
	sum := fnv.New64a()
	for _, name := range []string{file, m.c.mapping} {
		if name == "" {
			continue
		}
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(sum, in)
		in.Close()
		if err != nil {
			return err
		}
	}
	m.about = fmt.Sprintf("%s (%016x)", file, sum.Sum64())
	for _, name := range slices.Sorted(maps.Keys(m.c.params)) {
		m.about += fmt.Sprintf(" %s=%s", name, m.c.params[name])
	}
	if m.c.lost != "" {
		m.about += " -lost " + m.c.lost
	}
	return nil
}

// Hosts implements detectcmd.Model.
func (m *followed) Hosts() []string { return m.mapping.HostsOf(m.sys) }

// About implements detectcmd.Model.
func (m *followed) About() string { return m.about }

// Follow implements detectcmd.Model.
func (m *followed) Follow(ctx context.Context, hosts []string,
	init map[string]map[string]computation.Value, maxStates int, maxBytes int64) (
	detectcmd.Follower, error) {
	lost, err := m.c.lostHosts(hosts)
	if err != nil {
		return nil, err
	}
	f, err := conform.NewMonitor(ctx, m.sys, m.mapping, conform.MonitorOptions{Hosts: hosts,
		Init: init, Lost: lost, MaxNodes: maxStates, MaxBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	m.last, m.names = f, hosts
	return f, nil
}

// Why implements detectcmd.Model.
func (m *followed) Why() string {
	if m.last.Verdict() != conform.Incomplete {
		return ""
	}
	return m.last.Why()
}

// Notes implements detectcmd.Model.
func (m *followed) Notes() []string {
	var out []string
	if n := m.last.Unmapped(); n > 0 {
		out = append(out, "the mapping does not name "+human.Plural(int(n), "event"))
	}
	if n := m.last.Forgotten(); n > 0 {
		out = append(out, fmt.Sprintf("%s were forgotten because of -max-states or -max-memory",
			human.Plural(int(n), "state")))
	}
	return out
}

// Refusal implements detectcmd.Model.
func (m *followed) Refusal() (string, any) {
	p := m.last.Place()
	event := func(ev computation.Event) string {
		return fmt.Sprintf("event %d of %s", ev.Index, m.names[ev.Process])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n  followed  %s\n\nthe log continues with\n", human.Count(int64(p.Followed)))
	j := refusalJSON{Followed: p.Followed, Cut: map[string]int32{}, Hosts: map[string]string{}}
	for h, k := range p.Cut {
		j.Cut[m.names[h]], j.Hosts[m.names[h]] = k, p.Hosts[h]
	}
	for _, x := range p.Next {
		fmt.Fprintf(&b, "  %s: %s\n", event(x.Event), x.Text)
		next := eventJSON{Host: m.names[x.Event.Process], Index: x.Event.Index, Event: x.Text}
		for _, a := range x.After {
			fmt.Fprintf(&b, "    after %s\n", event(a))
			next.After = append(next.After, eventJSON{Host: m.names[a.Process], Index: a.Index})
		}
		j.Next = append(j.Next, next)
	}
	writeOffers(&b, p.Offers)
	j.Offers = offersJSON(p.Offers)
	return printable(b.String()), j
}

// refusalJSON is where events and model part.
type refusalJSON struct {
	Followed int               `json:"followed"`
	Cut      map[string]int32  `json:"cut"`
	Hosts    map[string]string `json:"hosts"`
	Next     []eventJSON       `json:"next,omitempty"`
	Offers   []offerJSON       `json:"offers,omitempty"`
}

// writeOffers prints what the model could do.
func writeOffers(b *strings.Builder, offers []conform.Offer) {
	if len(offers) == 0 {
		return
	}
	fmt.Fprintf(b, "\nthere the model could do\n")
	for _, o := range offers {
		does := o.Does
		if does == "" {
			does = "nothing"
		}
		fmt.Fprintf(b, "  %s: %s\n    at %s: %s\n    but %s\n", o.Thread, does,
			trace.PosString(o.Pos), o.Text, o.Why)
	}
}

func offersJSON(offers []conform.Offer) []offerJSON {
	var out []offerJSON
	for _, o := range offers {
		out = append(out, offerJSON{o.Thread, o.Host, trace.PosString(o.Pos), o.Text, o.Does,
			o.Why})
	}
	return out
}
