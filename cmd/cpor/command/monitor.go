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
	var b strings.Builder
	fmt.Fprintf(&b, "\n  followed  %s\n", human.Count(int64(p.Followed)))
	writeParting(&b, &p, func(ev computation.Event, text string) string {
		s := fmt.Sprintf("event %d of %s", ev.Index, m.names[ev.Process])
		if text != "" {
			s += ": " + text
		}
		return s
	})
	event := func(ev computation.Event, text string) eventJSON {
		return eventJSON{Host: m.names[ev.Process], Index: ev.Index, Event: text}
	}
	return printable(b.String()), newPlaceJSON(&p, m.names, event)
}
