package bench

import (
	"bytes"
	"cpor/internal/human"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"
)

//go:embed report.html.tmpl
var reportTemplate string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"anchor": anchor,
		"cell":   cellClass,
		"span":   func(g Grid) int { return len(g.Header) },
		"first": func(g Grid, i int) bool {
			return g.Lines[i].Group != "" && (i == 0 || g.Lines[i-1].Group != g.Lines[i].Group)
		},
	}).Parse(reportTemplate))
})

// page is what the template shows.
type page struct {
	Results  *Results
	Command  string
	Start    string
	Took     string
	Memory   string
	Sections []pageSection
}

type pageSection struct {
	Section
	Pictures []template.HTML
}

// htmlReport returns a page that needs no other file. The plots are part of it.
func htmlReport(r *Results, sections []Section) ([]byte, error) {
	p := page{
		Results: r,
		Command: strings.Join(append([]string{"cpor", "bench"}, r.Command...), " "),
		Start:   r.Start.Format("2 January 2006, 15:04"),
		Took:    roughly(time.Since(r.Start)),
		Memory:  human.Size(r.Machine.Memory),
	}
	if !r.End.IsZero() {
		p.Took = roughly(r.End.Sub(r.Start))
	}
	for _, s := range sections {
		ps := pageSection{Section: s}
		for i := range s.Plots {
			svg, err := s.Plots[i].svg()
			if err != nil {
				return nil, fmt.Errorf("plot %q: %w", s.Plots[i].Title, err)
			}
			if svg != "" {
				ps.Pictures = append(ps.Pictures, svg)
			}
		}
		p.Sections = append(p.Sections, ps)
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, &p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// anchor returns a title as the name of a place in the page.
func anchor(title string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		case c == ' ':
			return '-'
		}
		return -1
	}, title)
}

// cellClass returns the class of a grid's cell: its marks have colors.
func cellClass(s string) string {
	switch s {
	case "=":
		return "equal"
	case "≠":
		return "differs"
	case "–":
		return "none"
	}
	return ""
}
