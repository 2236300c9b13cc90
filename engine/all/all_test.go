package all_test

import (
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all"
)

// TestEntries: each entry tells what the command and the tests need of it.
func TestEntries(t *testing.T) {
	flags := map[string]*engine.FlagInfo{}
	for _, e := range engine.Entries("") {
		name := e.Mode + " " + e.Name
		m := engine.LookupMode(e.Mode)
		switch {
		case m == nil:
			t.Fatalf("%s: no such mode", name)
		case e.Summary == "" || e.Preserves == 0 || e.Counts == 0 || e.Run == nil:
			t.Errorf("%s says too little of itself: %+v", name, e)
		case e.Stable&^e.Counts != 0:
			t.Errorf("%s promises counts that it does not have", name)
		case m.Temporal != (e.Preserves&engine.Formulas != 0):
			t.Errorf("%s: temporal properties belong to modes that check them", name)
		}
		if got, err := engine.Lookup(e.Mode, e.Name); got != e || err != nil {
			t.Errorf("%s is not found: %v", name, err)
		}
		for _, f := range e.Flags {
			about := f.About()
			if old := flags[about.Name]; old != nil && old != about {
				t.Errorf("%s: there are two flags -%s", name, about.Name)
			}
			flags[about.Name] = about
			if about.Usage == "" || !strings.HasSuffix(about.Group, ":") {
				t.Errorf("-%s says too little of itself: %+v", about.Name, about)
			}
			for _, s := range about.Try {
				if err := new(engine.Values).Set(f, s); err != nil {
					t.Errorf("-%s %s: %v", about.Name, s, err)
				}
			}
		}
	}
}

// TestModes: each mode has one default, and if it has a choice of reductions,
// something that reduces nothing to fall back on.
func TestModes(t *testing.T) {
	byDefault := 0
	for _, m := range engine.Modes() {
		if m.Default {
			byDefault++
		}
		es := engine.Entries(m.Name)
		if len(es) == 0 || !es[0].Default {
			t.Fatalf("%s has no default", m.Name)
		}
		plain := false
		for i, e := range es {
			plain = plain || !e.Reduces
			if e.Default != (i == 0) {
				t.Errorf("%s: %s is a second default", m.Name, e.Name)
			}
		}
		if !plain && len(es) > 1 {
			t.Errorf("%s has nothing that reduces nothing", m.Name)
		}
		if e, err := m.Chosen(nil, &engine.Options{}); err != nil || e != es[0] {
			t.Errorf("%s chooses %v, %v", m.Name, e, err)
		}
	}
	if byDefault != 1 {
		t.Errorf("%d default modes", byDefault)
	}
}

func TestUnknown(t *testing.T) {
	for _, tt := range []struct{ mode, name, meant string }{
		{"", "cartesain", "cartesian"},
		{"stateless", "sleeep", "sleep"},
	} {
		got := engine.Unknown(tt.mode, tt.name).Error()
		if !strings.HasPrefix(got, "unknown reduction; want ") ||
			!strings.HasSuffix(got, "; did you mean "+tt.meant+"?") {
			t.Errorf("%s %s: %s", tt.mode, tt.name, got)
		}
		for _, e := range engine.Entries(tt.mode) {
			if !strings.Contains(got, " "+e.Name+",") && !strings.Contains(got, " "+e.Name+";") {
				t.Errorf("%s %s: %s does not name %s", tt.mode, tt.name, got, e.Name)
			}
		}
		if _, err := engine.Lookup(tt.mode, tt.name); err == nil {
			t.Errorf("%s is found", tt.name)
		}
	}
}
