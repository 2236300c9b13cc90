package trace

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
)

// WriteITF writes the states of a record in the Informal Trace Format of Apalache
// (https://apalache-mc.org/docs/adr/015adr-trace.html): the shared variables by
// name, the local ones as THREAD.NAME, and the places of the threads as THREAD@. A
// variable that is not alive in a state is the empty string there. The record must
// have its states ([Trace.RecordStates]).
func (r *Record) WriteITF(w io.Writer) error {
	if len(r.States) == 0 {
		return errors.New("the states were not recorded")
	}
	states := make([]map[string]any, len(r.States))
	all := map[string]bool{}
	for i, st := range r.States {
		s := map[string]any{"#meta": map[string]any{"index": i}}
		for _, b := range st.Shared {
			s[b.Name] = ITFValue(b.Value)
		}
		for _, t := range st.Threads {
			s[t.Name+"@"] = "ended"
			if t.Pos.Line > 0 {
				s[t.Name+"@"] = PosString(t.Pos)
			}
			for _, b := range t.Locals {
				s[t.Name+"."+b.Name] = ITFValue(b.Value)
			}
		}
		for k := range s {
			all[k] = k != "#meta"
		}
		states[i] = s
	}
	var vars []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !all[k] {
			continue
		}
		vars = append(vars, k)
		for _, s := range states {
			if _, ok := s[k]; !ok {
				s[k] = ""
			}
		}
	}
	meta := map[string]any{"format": "ITF",
		"format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html"}
	if v := r.Violation; v != nil {
		meta["source"], meta["description"] = v.Pos.File, Headline(v)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]any{"#meta": meta, "vars": vars, "states": states})
}

// ITFValue returns a printed value as ITF represents it: a number or a bool where it is one.
func ITFValue(s string) any {
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		if v > -1<<53 && v < 1<<53 {
			return v
		}
		return map[string]string{"#bigint": s}
	}
	return s
}
