package human

import (
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
