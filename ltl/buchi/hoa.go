package buchi

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteHOA writes a in the Hanoi omega-automata format, version 1 (Babiak et al., CAV 2015),
// which Spot, Owl and others read. The name, usually the formula, goes into the header; it may
// be empty. The error is that of w.
func (a *Automaton) WriteHOA(w io.Writer, name string) error {
	b := bufio.NewWriter(w)
	writeHOAHeader(b, name, len(a.Out), a.Init, a.Atoms)
	fmt.Fprintf(b, "acc-name: Buchi\nAcceptance: 1 Inf(0)\n")
	fmt.Fprintf(b, "properties: trans-labels explicit-labels state-acc")
	if a.Deterministic() {
		fmt.Fprint(b, " deterministic")
	}
	fmt.Fprint(b, "\n--BODY--\n")
	for q, ts := range a.Out {
		fmt.Fprintf(b, "State: %d", q)
		if a.Accepting[q] {
			fmt.Fprint(b, " {0}")
		}
		fmt.Fprintln(b)
		for _, t := range ts {
			fmt.Fprintf(b, "[%s] %d\n", hoaLabel(t.Label), t.Dst)
		}
	}
	fmt.Fprintln(b, "--END--")
	return b.Flush()
}

// WriteHOA writes g in the Hanoi omega-automata format; see Automaton.WriteHOA.
func (g *Generalised) WriteHOA(w io.Writer, name string) error {
	b := bufio.NewWriter(w)
	writeHOAHeader(b, name, len(g.Out), g.Init, g.Atoms)
	var inf []string
	for i := range g.Sets {
		inf = append(inf, fmt.Sprintf("Inf(%d)", i))
	}
	acceptance := strings.Join(inf, "&")
	if g.Sets == 0 {
		acceptance = "t"
	}
	fmt.Fprintf(b, "acc-name: generalized-Buchi %d\nAcceptance: %d %s\n", g.Sets, g.Sets,
		acceptance)
	fmt.Fprint(b, "properties: trans-labels explicit-labels trans-acc\n--BODY--\n")
	for q, ts := range g.Out {
		fmt.Fprintf(b, "State: %d\n", q)
		for _, t := range ts {
			fmt.Fprintf(b, "[%s] %d", hoaLabel(t.Label), t.Dst)
			if t.Sets != 0 {
				var sets []string
				for i := range g.Sets {
					if t.Sets>>i&1 == 1 {
						sets = append(sets, fmt.Sprint(i))
					}
				}
				fmt.Fprintf(b, " {%s}", strings.Join(sets, " "))
			}
			fmt.Fprintln(b)
		}
	}
	fmt.Fprintln(b, "--END--")
	return b.Flush()
}

func writeHOAHeader(b *bufio.Writer, name string, states, init int, atoms []string) {
	fmt.Fprintln(b, "HOA: v1")
	if name != "" {
		fmt.Fprintf(b, "name: %s\n", hoaString(name))
	}
	fmt.Fprintf(b, "States: %d\nStart: %d\nAP: %d", states, init, len(atoms))
	for _, a := range atoms {
		fmt.Fprintf(b, " %s", hoaString(a))
	}
	fmt.Fprintln(b)
}

// hoaString quotes as the format wants it: only the quote and the backslash are escaped.
func hoaString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func hoaLabel(l Label) string {
	if l == (Label{}) {
		return "t"
	}
	return l.literals("&", func(i int) string { return fmt.Sprint(i) })
}
