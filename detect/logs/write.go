package logs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cpor/detect/computation"
)

// WriteShiViz writes the events in the order given as a ShiViz log in
// GoVector's layout, with the header that the ShiViz site wants. Before each
// text it puts what prefix returns, if prefix is not nil; ShiViz's search finds
// events by it. Fields that the events have (the further groups of the parser
// of the log that was read) are before the text, with the groups that read
// them again in the header. Line breaks in texts become spaces, and tabs in
// fields.
func WriteShiViz(w io.Writer, c *computation.Computation, order []computation.Event,
	prefix func(computation.Event) string) error {
	out := bufio.NewWriter(w)
	fields := c.FieldNames()
	if len(fields) == 0 && !slices.ContainsFunc(c.Names(), func(name string) bool {
		return strings.ContainsAny(name, " \t\r\n\f")
	}) {
		fmt.Fprintf(out, "%s\n\n", GoVectorRegexp)
	} else {
		out.WriteString(`^(?<host>.*?) (?<clock>{".*})\n`)
		for _, name := range fields {
			fmt.Fprintf(out, `(?:=(?<%s>[^\t]*))?\t`, name)
		}
		out.WriteString("(?<event>.*)\n\n")
	}
	var buf []byte
	for _, e := range order {
		buf = appendFlat(buf[:0], c.Name(e.Process), false)
		buf = append(buf, ' ')
		buf = appendClock(buf, c, e)
		buf = append(buf, '\n')
		for _, name := range fields {
			if text, ok := c.Field(e.Process, e.Index, name); ok {
				buf = appendFlat(append(buf, '='), text, true)
			}
			buf = append(buf, '\t')
		}
		if prefix != nil {
			buf = append(buf, prefix(e)...)
		}
		buf = appendFlat(buf, c.Text(e.Process, e.Index), false)
		buf = append(buf, '\n')
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendFlat appends the text with spaces for line breaks, and perhaps for tabs.
func appendFlat(buf []byte, text string, tabs bool) []byte {
	for i := range len(text) {
		if b := text[i]; b == '\n' || b == '\r' || tabs && b == '\t' {
			buf = append(buf, ' ')
		} else {
			buf = append(buf, b)
		}
	}
	return buf
}

func appendClock(buf []byte, c *computation.Computation, e computation.Event) []byte {
	sep := byte('{')
	for j, x := range c.Clock(e.Process, e.Index) {
		if x == 0 {
			continue
		}
		buf = append(buf, sep)
		name, _ := json.Marshal(c.Name(j))
		buf = append(buf, name...)
		buf = append(buf, ':')
		buf = strconv.AppendInt(buf, int64(x), 10)
		sep = ','
	}
	return append(buf, '}')
}

// WriteJSONLines writes the whole computation as a JSON-lines log: the hosts,
// the initial values, and the events in an order in which each comes after those
// that it depends on.
func WriteJSONLines(w io.Writer, c *computation.Computation) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if c.Label() != "" {
		if err := enc.Encode(map[string]any{"trace": c.Label()}); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"hosts": c.Names()}); err != nil {
		return err
	}
	init := map[string]map[string]computation.Value{}
	changes := make([]map[int32]map[string]computation.Value, c.N())
	for i := range c.N() {
		changes[i] = map[int32]map[string]computation.Value{}
		for _, v := range c.Variables(i) {
			for _, ch := range v.Changes {
				if changes[i][ch.State] == nil {
					changes[i][ch.State] = map[string]computation.Value{}
				}
				changes[i][ch.State][v.Name] = c.Values().Value(ch.Value)
			}
		}
		if changes[i][0] != nil {
			init[c.Name(i)] = changes[i][0]
		}
	}
	if len(init) > 0 {
		if err := enc.Encode(map[string]any{"init": init}); err != nil {
			return err
		}
	}
	type line struct {
		Host  string                       `json:"host"`
		Clock json.RawMessage              `json:"clock"`
		Event string                       `json:"event,omitempty"`
		Vars  map[string]computation.Value `json:"vars,omitempty"`
	}
	for _, e := range c.Linearise(c.Initial(), c.Final()) {
		l := line{c.Name(e.Process), appendClock(nil, c, e), c.Text(e.Process, e.Index),
			changes[e.Process][e.Index]}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return out.Flush()
}
