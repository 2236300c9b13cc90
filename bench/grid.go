package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// columns is what a terminal is taken to have.
const columns = 80

// writeSections prints the sections for a terminal.
func writeSections(w io.Writer, sections []Section) {
	for _, s := range sections {
		fmt.Fprintf(w, "\n%s\n%s\n", s.Title,
			strings.Repeat("=", text.StringWidthWithoutEscSequences(s.Title)))
		for _, t := range s.Text {
			fmt.Fprintf(w, "%s\n", wrap(t))
		}
		for _, f := range s.Facts {
			fmt.Fprintln(w, wrap(f.Name+": "+f.Value))
		}
		for i := range s.Grids {
			fmt.Fprintf(w, "\n%s", s.Grids[i].String())
		}
	}
}

// wrap breaks a paragraph into lines that fit.
func wrap(s string) string {
	lines := strings.Split(text.WrapSoft(s, columns), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// String returns the grid for a terminal.
func (g *Grid) String() string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	style.Box.PaddingLeft, style.Box.PaddingRight = "", " "
	t.SetStyle(style)
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignLeft}}
	for i := 1; i < len(g.Header); i++ {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight,
			AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(cells(g.Header))
	group := ""
	for _, l := range g.Lines {
		if l.Group != group {
			group = l.Group
			if group != "" {
				t.AppendRow(table.Row{group + ":"})
			}
		}
		t.AppendRow(cells(l.Cells))
	}
	var b strings.Builder
	if g.Caption != "" {
		b.WriteString(wrap(g.Caption) + "\n")
	}
	for _, l := range strings.Split(t.Render(), "\n") {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	for _, n := range g.Notes {
		b.WriteString(wrap(n) + "\n")
	}
	return b.String()
}

func cells(ss []string) table.Row {
	r := make(table.Row, len(ss))
	for i, s := range ss {
		r[i] = s
	}
	return r
}
