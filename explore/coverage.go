package explore

import "cpor/frontend"

// Coverage is how often a search has executed each line of the sources.
type Coverage struct {
	// Means completes "a count says how often"; empty if nothing is counted.
	Means string        `json:"means"`
	Files []CoveredFile `json:"files"`
	// Lines with a statement, and those of them that were executed.
	Lines    int `json:"lines"`
	Executed int `json:"executed"`
}

// CoveredFile is a source with its counts.
type CoveredFile struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Lines []Line `json:"lines"` // those with a statement
}

// Line is how often the first statement of a line was executed.
type Line struct {
	Line int    `json:"line"` // from 1
	N    uint64 `json:"n"`
}

// Coverage tells what the search has executed: while it runs, what it had executed when
// it was asked before.
func (s *Search) Coverage() *Coverage {
	c := &Coverage{Files: []CoveredFile{}}
	if s.p == nil || s.p.Coverage == nil {
		return c
	}
	var counted *frontend.Coverage
	select {
	case <-s.over:
		counted = s.p.Coverage()
	default:
		counted = s.p.CoverageSoFar()
	}
	c.Means = counted.Means
	type first struct {
		col int
		n   uint64
	}
	files := map[string]map[int]first{}
	for _, x := range counted.Counts {
		if files[x.Pos.File] == nil {
			files[x.Pos.File] = map[int]first{}
		}
		old, ok := files[x.Pos.File][x.Pos.Line]
		switch {
		case !ok || x.Pos.Col < old.col:
			files[x.Pos.File][x.Pos.Line] = first{x.Pos.Col, x.N}
		case x.Pos.Col == old.col:
			files[x.Pos.File][x.Pos.Line] = first{x.Pos.Col, old.n + x.N}
		}
	}
	for _, f := range s.p.Sources {
		out := CoveredFile{Name: f.Name, Text: f.Text, Lines: []Line{}}
		lines := files[f.Name]
		for n := 1; len(out.Lines) < len(lines) && n <= len(f.Text)+1; n++ {
			if x, ok := lines[n]; ok {
				out.Lines = append(out.Lines, Line{n, x.n})
				c.Lines++
				if x.n > 0 {
					c.Executed++
				}
			}
		}
		c.Files = append(c.Files, out)
	}
	return c
}
