package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/system"
)

// OrbitsOf counts the orbits of the reachable states of a system with symmetries, by
// plain exploration. It holds each representative to its state: in words, without the
// names of the threads, they must be the same; and what is the same in words, with
// the same relations of threads to locks, must have the same representative. n is -1 if
// there are more states than most, or more names than it can exchange in words.
func OrbitsOf(sys system.System, most int) (n int, wrong string) {
	sym := sys.Capabilities().Symmetric
	represent := sym.Representatives()
	m, other := sys.NewMachine(), sys.NewMachine()
	inWords := inWords
	named := strings.Contains(sym.Symmetry(), "which Pid is which")
	if named {
		inWords = inWordsWithoutNames
	}
	seen, orbits := map[string]bool{}, map[string]bool{}
	words := map[string]string{} // in words, by representative
	var work []system.State
	visit := func(s system.State) {
		if k := engine.StateString(s); !seen[k] {
			seen[k] = true
			work = append(work, slices.Clone(s))
		}
	}
	for _, s := range sys.Initial() {
		visit(s)
	}
	for len(work) > 0 && wrong == "" {
		if len(seen) > most {
			return -1, ""
		}
		s := work[len(work)-1]
		work = work[:len(work)-1]
		m.Load(s)
		own := inWords(m)
		if named && strings.Contains(own, "Pid#3") {
			return -1, ""
		}
		r := slices.Clone(s)
		represent(r)
		key := engine.StateString(r)
		if !orbits[key] {
			orbits[key] = true
			other.Load(r)
			words[key] = inWords(other)
		}
		if words[key] != own {
			wrong = fmt.Sprintf("the representative of a state is another one in words:\n%s\n%s",
				own, words[key])
		}
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					visit(m.Encode(nil))
				}
				m.Rewind(mark)
				alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
			}
		}
	}
	same := map[string]bool{}
	for _, w := range words {
		if same[w] && wrong == "" && !meets(m) && !named {
			wrong = "two orbits are the same in words:\n" + w
		}
		same[w] = true
	}
	return len(orbits), wrong
}

// meets reports whether threads meet at channels without a buffer: then a thread remembers
// something that is neither in its local part nor in a variable.
func meets(m system.Machine) bool {
	locs := m.Capabilities().Locking
	for l := range locs.NumClassified() {
		if strings.HasSuffix(m.LocName(system.Loc(l)), ".parked") {
			return true
		}
	}
	return false
}

// inWords describes a state so that it makes no difference which thread of a kind is
// which.
func inWords(m system.Machine) string { return describe(m, nil) }

// inWordsWithoutNames describes a state so that it makes no difference which of three names of
// the type Pid is which, either: it takes the first one of all descriptions with the
// names exchanged. What an array with an element for each name is called begins with N.
func inWordsWithoutNames(m system.Machine) string {
	first := ""
	for _, to := range []string{"012", "021", "102", "120", "201", "210"} {
		text := describe(m, func(text string) string {
			return nameOf.ReplaceAllStringFunc(text, func(n string) string {
				b := []byte(n)
				for i := max(strings.IndexAny(n, "#["), 0); i < len(b); i++ {
					if c := b[i]; c >= '0' && c <= '2' {
						b[i] = to[c-'0']
					}
				}
				return string(b)
			})
		})
		if first == "" || text < first {
			first = text
		}
	}
	return first
}

// nameOf matches a name, and what an element of a name is called.
var nameOf = regexp.MustCompile(`Pid#[0-2]|\bN[a-z]*[0-9]*(\[[0-2]\])+`)

// describe describes a state so that it makes no difference which thread of a kind is
// which. rename, if it is not nil, exchanges the names in a text; what has none is left out.
func describe(m system.Machine, rename func(string) string) string {
	shows := m.Capabilities().Showing
	pieces := m.Capabilities().Pieces
	vars := shows.Variables()
	names := make([]string, m.NumThreads())
	for t := range names {
		names[t] = m.ThreadName(t)
	}
	// The longest name first, since T[1] is a part of none, but what follows must not be.
	anonymous := func(text string, self string) string {
		for _, n := range names {
			kind, _, _ := strings.Cut(n, "[")
			if n == self {
				kind = "self"
			}
			text = strings.ReplaceAll(text, n, kind)
		}
		if strings.HasPrefix(text, "{") { // a set
			all := strings.Fields(strings.Trim(text, "{}"))
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		// a set, too: whoever is woken is a choice
		if owner, waiting, ok := strings.Cut(text, ", waited for by "); ok {
			all := strings.Split(waiting, " and ")
			slices.Sort(all)
			return owner + ", waited for by " + strings.Join(all, " and ")
		}
		return text
	}
	var lines []string
	for t, n := range names {
		var b strings.Builder
		kind, _, _ := strings.Cut(n, "[")
		pos, text, ok := m.Next(t)
		mark := m.Mark()
		out := m.Step(t, 0)
		m.Rewind(mark)
		fmt.Fprint(&b, kind, pos, text, ok, out.Kind)
		var parts []string
		if rename == nil {
			fmt.Fprint(&b, m.Locals(t), pieces.Local(t, nil))
		} else {
			for _, v := range m.Locals(t) {
				if !strings.HasPrefix(v.Name, "N") {
					parts = append(parts, rename(v.Name+"="+v.Value))
					continue
				}
				for i, x := range strings.Fields(strings.Trim(v.Value, "[]")) {
					parts = append(parts, rename(fmt.Sprintf("%s[%d]=%s", v.Name, i, x)))
				}
			}
		}
		for _, v := range vars {
			if strings.Contains(v.Value, n) {
				part := v.Name + "=" + anonymous(v.Value, n)
				if rename != nil {
					part = rename(part)
				}
				parts = append(parts, part)
			}
		}
		if rename != nil {
			slices.Sort(parts)
		}
		lines = append(lines, b.String()+strings.Join(parts, " "))
	}
	slices.Sort(lines)
	if rename == nil {
		for _, v := range vars {
			lines = append(lines, v.Name+"="+anonymous(v.Value, ""))
		}
		return strings.Join(lines, "\n")
	}
	for _, v := range vars {
		line := rename(v.Name + "=" + anonymous(v.Value, ""))
		// it may be a bag: the names decide on the order that is shown
		if strings.Contains(v.Value, ", ") {
			all := strings.Fields(strings.NewReplacer(",", " ", "=", "= ").Replace(line))
			slices.Sort(all)
			line = strings.Join(all, " ")
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Orbits returns what was reached, with representatives in the place of deadlocked
// states; local states are left out.
func Orbits(sys system.System, r *Reach) *Reach {
	sym := sys.Capabilities().Symmetric
	represent := sym.Representatives()
	orbits := &Reach{Violations: r.Violations, Deadlocks: map[string]bool{}}
	for text := range r.Deadlocks {
		var s system.State
		for _, word := range strings.Fields(strings.Trim(text, "[]")) {
			var w uint64
			fmt.Sscan(word, &w)
			s = append(s, w)
		}
		represent(s)
		orbits.Deadlocks[fmt.Sprint(s)] = true
	}
	return orbits
}
