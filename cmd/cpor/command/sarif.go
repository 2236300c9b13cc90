package command

import (
	"strings"

	"cpor/engine"
	"cpor/internal/sarif"
	"cpor/internal/version"
	"cpor/system"
)

// writeSARIF writes the file of -sarif.
func (r *report) writeSARIF() error {
	log := &sarif.Log{Version: version.String(), Done: true}
	for _, f := range r.found {
		found := sarif.Finding{Rule: "ltl", Message: "a temporal property is violated"}
		if f.Violation != nil {
			found.Rule, found.Message, found.At = string(f.Kind), f.Message, sarifPlace(f.Pos)
		}
		rec := f.record
		if looping, ok := f.Account.(engine.Looping); ok {
			p, t, _ := looping.Lasso()
			found.At, found.Message = sarifPlace(p.Pos), p.Called()+" is violated"
			rec, _ = t.Record(f.system) // if that fails, the steps are missing
		}
		if rec != nil {
			for _, e := range rec.Events {
				found.Steps = append(found.Steps, sarif.Step{Thread: e.Thread, Text: e.Text,
					At: sarifPlace(e.Pos)})
			}
			for _, t := range rec.Final { // for a deadlock: where some thread waits
				if t.Kind == system.Blocked && !t.AtEnd && found.At.Line == 0 {
					found.At = sarifPlace(t.Pos)
				}
			}
		}
		log.Add(found)
	}
	if r.verdict() == engine.Incomplete {
		log.Note(strings.TrimSpace(r.c.file + ": incomplete: " + r.res.Reason))
	}
	r.c.sarifFile.created = false
	return log.WriteFile(r.c.sarif)
}

func sarifPlace(p system.Pos) sarif.Place {
	return sarif.Place{File: p.File, Line: p.Line, Col: p.Col}
}
