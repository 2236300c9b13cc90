// Package layout lays text out in lines and columns for people, the same everywhere. It is apart
// from package human so that what only prints numbers comes without go-pretty.
package layout

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// NewTable returns a table without lines, with two spaces before each column. The columns
// right, counted from 1, are aligned to the right.
func NewTable(right ...int) table.Writer {
	s := table.StyleDefault
	s.Name = "plain"
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "  ", ""
	s.Format.Header = 0
	var columns []table.ColumnConfig
	for _, c := range right {
		columns = append(columns, table.ColumnConfig{Number: c, Align: text.AlignRight,
			AlignHeader: text.AlignRight})
	}
	t := table.NewWriter()
	t.SetStyle(s)
	t.SetColumnConfigs(columns)
	return t
}

// Wrap breaks a text into lines of 80 columns and indents all but the first.
func Wrap(s string, indent int) string {
	lines := strings.Split(text.WrapSoft(s, 80-indent), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}
