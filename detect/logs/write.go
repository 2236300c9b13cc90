package logs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"cpor/detect/computation"
)

// WriteShiViz writes the events in the order given as a ShiViz log in
// GoVector's layout, with the header that the ShiViz site wants. Before each
// text it puts what prefix returns, if prefix is not nil; ShiViz's search finds
// events by it. Line breaks in a text become spaces.
func WriteShiViz(w io.Writer, c *computation.Computation, order []computation.Event, prefix func(computation.Event) string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", GoVectorRegexp)
	var buf []byte
	for _, e := range order {
		buf = append(buf[:0], c.Name(e.Process)...)
		buf = append(buf, ' ')
		buf = appendClock(buf, c, e)
		buf = append(buf, '\n')
		if prefix != nil {
			buf = append(buf, prefix(e)...)
		}
		at := len(buf)
		buf = append(buf, c.Text(e.Process, e.Index)...)
		for i := at; i < len(buf); i++ {
			if buf[i] == '\n' || buf[i] == '\r' {
				buf[i] = ' '
			}
		}
		buf = append(buf, '\n')
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return out.Flush()
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
		l := line{c.Name(e.Process), appendClock(nil, c, e), c.Text(e.Process, e.Index), changes[e.Process][e.Index]}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return out.Flush()
}
