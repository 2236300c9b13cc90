package logs

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"cpor/detect/computation"

	"encoding/json"
)

// clockScanner reads clocks, {"host":number, ...}, fast: it expects the hosts in
// the order of the previous clock, as every logger writes them.
type clockScanner struct {
	b      *computation.Builder
	names  [][]byte // the hosts of the previous clock, in order, quoted
	ids    []int
	repeat bool  // names has a host twice
	hosts  []int // the entries of the last clock
	vals   []int32
	// twice is set by scan to the host that the clock names twice with different
	// counts, of which the last one is taken, as JavaScript does; -1 if there is none.
	twice  int
	learnt int    // bytes of the names that were not those of the previous clock
	plain  []byte // scratch: a clock without the backslashes of an outer string
}

// scan reads a clock into c.hosts and c.vals. A clock that was written as a
// part of a string, with a backslash before each quote, is read, too.
func (c *clockScanner) scan(text []byte) error {
	end, err := c.scanAt(text, 0)
	if err != nil && bytes.Contains(text, []byte(`\"`)) {
		c.plain = append(c.plain[:0], bytes.ReplaceAll(text, []byte(`\"`), []byte(`"`))...)
		text = c.plain
		end, err = c.scanAt(text, 0)
	}
	if err != nil {
		return err
	}
	if end = skipSpace(text, end); end < len(text) {
		return fmt.Errorf("unexpected text after the clock: %s", shorten(text[end:]))
	}
	return nil
}

// scanAt reads the clock that begins at i and returns where it ends.
func (c *clockScanner) scanAt(text []byte, i int) (end int, err error) {
	c.hosts, c.vals, c.twice = c.hosts[:0], c.vals[:0], -1
	from := i
	noObject := func() (int, error) {
		return 0, fmt.Errorf("the clock is not a JSON object: %s", shorten(text[from:]))
	}
	if i = skipSpace(text, i); i >= len(text) || text[i] != '{' {
		return noObject()
	}
	i = skipSpace(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1, nil
	}
	fresh := false // the hosts are not those of the previous clock
	for n := 0; ; n++ {
		if i >= len(text) || text[i] != '"' {
			return noObject()
		}
		id := -1
		if n < len(c.names) && bytes.HasPrefix(text[i:], c.names[n]) {
			id = c.ids[n]
			i += len(c.names[n])
		} else {
			j := endOfString(text, i)
			if j < 0 {
				return noObject()
			}
			quoted := text[i:j]
			if isPlain(quoted[1 : len(quoted)-1]) {
				id = c.b.HostBytes(quoted[1 : len(quoted)-1])
			} else {
				var name string
				if err := json.Unmarshal(quoted, &name); err != nil {
					return 0, fmt.Errorf("the clock has a bad host name: %s", shorten(quoted))
				}
				id = c.b.Host(name)
			}
			c.names, c.ids = append(c.names[:n:n], bytes.Clone(quoted)), append(c.ids[:n:n], id)
			c.learnt += len(quoted) + 64
			fresh = true
			i = j
		}
		i = skipSpace(text, i)
		if i >= len(text) || text[i] != ':' {
			return noObject()
		}
		i = skipSpace(text, i+1)
		start, v := i, int64(0)
		neg := i < len(text) && text[i] == '-'
		if neg {
			i++
		}
		digits := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' && v < 1<<31 {
			v = v*10 + int64(text[i]-'0')
			i++
		}
		after := skipSpace(text, i)
		if i == digits || v >= 1<<31 || neg && v != 0 || text[digits] == '0' && i > digits+1 ||
			i < len(text) && after == i && text[i] != ',' && text[i] != '}' {
			end := i
			for end < len(text) && text[end] != ',' && text[end] != '}' && text[end] != ' ' {
				end++
			}
			return 0, fmt.Errorf("the clock's entry for host %s is not a count: %s",
				c.b.HostName(id), shorten(text[start:end]))
		}
		c.hosts, c.vals = append(c.hosts, id), append(c.vals, int32(v))
		i = after
		if i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
			continue
		}
		if i < len(text) && text[i] == '}' {
			if fresh {
				c.repeat = hasRepeat(c.hosts)
			}
			if c.repeat {
				c.settle()
			}
			return i + 1, nil
		}
		return noObject()
	}
}

func hasRepeat(ids []int) bool {
	seen := make(map[int]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

// settle leaves each host once, with its last count.
func (c *clockScanner) settle() {
	at := make(map[int]int, len(c.hosts))
	n := 0
	for k, id := range c.hosts {
		x, ok := at[id]
		if !ok {
			x = n
			at[id] = n
			c.hosts[n], c.vals[n] = id, c.vals[k]
			n++
		}
		if c.vals[x] != c.vals[k] {
			c.twice = id
		}
		c.vals[x] = c.vals[k]
	}
	c.hosts, c.vals = c.hosts[:n], c.vals[:n]
}

// isPlain reports whether the inside of a JSON string represents itself.
func isPlain(s []byte) bool {
	for _, b := range s {
		if b < ' ' || b == '\\' || b == '"' {
			return false
		}
	}
	return true
}

// entries puts the clock into the builder's current event.
func (c *clockScanner) entries() {
	for k, id := range c.hosts {
		c.b.Entry(id, c.vals[k])
	}
}

func skipSpace(s []byte, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// endOfString returns the index after the JSON string that begins at i, -1 if
// it does not end.
func endOfString(s []byte, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func shorten(s []byte) string {
	const limit = 60
	if len(s) <= limit {
		return string(s)
	}
	s = s[:limit]
	for len(s) > 0 && !utf8.Valid(s[max(0, len(s)-4):]) {
		s = s[:len(s)-1]
	}
	return string(s) + "..."
}

// assignments finds name=value and JSON objects in the text of an event and
// assigns them with set, which does not keep the name.
type assignments struct {
	opt   *Options
	set   func(name []byte, v computation.Value)
	cache map[string]computation.Value // of unquoted tokens
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		c >= utf8.RuneSelf
}

func (a *assignments) token(s []byte) computation.Value {
	if v, ok := a.cache[string(s)]; ok {
		return v
	}
	v := computation.ParseToken(string(s))
	if len(a.cache) < 1<<16 && len(s) <= 64 {
		if a.cache == nil {
			a.cache = map[string]computation.Value{}
		}
		a.cache[string(s)] = v
	}
	return v
}

func (a *assignments) find(text []byte) {
	if a.opt.Assign != nil {
		name, value := a.opt.Assign.SubexpIndex("name"), a.opt.Assign.SubexpIndex("value")
		for _, m := range a.opt.Assign.FindAllSubmatchIndex(text, -1) {
			if m[2*name] >= 0 && m[2*value] >= 0 {
				a.value(string(text[m[2*name]:m[2*name+1]]), text[m[2*value]:m[2*value+1]])
			}
		}
		return
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			// A string that is not a value: nothing in it is an assignment.
			if j := endOfString(text, i); j > 0 {
				i = j
			} else {
				i++
			}
		case c == '{':
			if j := a.object(text[i:]); j > 0 {
				i += j
			} else {
				i++
			}
		case c == '=' && i > 0 && isNameByte(text[i-1]) && i+1 < len(text) && text[i+1] != '=' &&
			text[i+1] != '>' && text[i+1] != '~':
			start := beginOfName(text, i)
			if start == i {
				i++
				continue
			}
			n := a.assign(text[start:i], text[i+1:])
			i += 1 + n
		default:
			i++
		}
	}
}

// beginOfName returns where the name begins that ends before i, i if there is none: names have
// dots in them, and begin with neither a dot nor a digit.
func beginOfName(text []byte, i int) int {
	start := i
	for start > 0 && (isNameByte(text[start-1]) || text[start-1] == '.') {
		start--
	}
	for start < i && (text[start] == '.' || text[start] >= '0' && text[start] <= '9') {
		start++
	}
	return start
}

// assign assigns the value that the text begins with and returns its length.
func (a *assignments) assign(name, text []byte) int {
	var v computation.Value
	n := 0
	switch {
	case len(text) > 0 && text[0] == '"':
		if n = endOfString(text, 0); n > 0 {
			var s string
			if json.Unmarshal(text[:n], &s) == nil {
				v = computation.StringValue(s)
			} else {
				v = computation.StringValue(string(text[1 : n-1]))
			}
		} else {
			return 0
		}
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var x any
		if dec.Decode(&x) == nil {
			n = int(dec.InputOffset())
			if obj, ok := x.(map[string]any); ok {
				a.assignMembers(string(name)+".", obj)
				return n
			}
			v, _ = computation.FromJSON(x)
			break
		}
		fallthrough
	default:
		for n < len(text) && !bytes.ContainsRune([]byte(" \t,;)]}"), rune(text[n])) {
			n++
		}
		for n > 0 && (text[n-1] == '.' || text[n-1] == ':') {
			n-- // the end of a sentence
		}
		v = a.token(text[:n])
	}
	a.set(name, v)
	return n
}

// object assigns the members of the JSON object that the text begins with, and
// returns its length, 0 if it begins with none.
func (a *assignments) object(text []byte) int {
	if i := skipSpace(text, 1); i >= len(text) || text[i] != '"' {
		return 0
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var x map[string]any
	if dec.Decode(&x) != nil {
		return 0
	}
	a.assignMembers("", x)
	return int(dec.InputOffset())
}

func (a *assignments) assignMembers(prefix string, x map[string]any) {
	for name, m := range x {
		if obj, ok := m.(map[string]any); ok {
			a.assignMembers(prefix+name+".", obj)
			continue
		}
		if v, err := computation.FromJSON(m); err == nil {
			a.set([]byte(prefix+name), v)
		}
	}
}

// value assigns the text of a named group: JSON if it is some, else a token.
func (a *assignments) value(name string, text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && (text[0] == '"' || text[0] == '[' || text[0] == '{') {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var x any
		if dec.Decode(&x) == nil && skipSpace(text, int(dec.InputOffset())) == len(text) {
			if obj, ok := x.(map[string]any); ok {
				a.assignMembers(name+".", obj)
				return
			}
			if v, err := computation.FromJSON(x); err == nil {
				a.set([]byte(name), v)
				return
			}
		}
	}
	a.set([]byte(name), a.token(text))
}
