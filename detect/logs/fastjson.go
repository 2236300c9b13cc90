package logs

import (
	"bytes"
	"encoding/json"

	"cpor/detect/computation"
)

// fastLine is an event of a JSON-lines log, taken apart. It is our own because
// a log has a million such lines, all alike: encoding/json takes ten times as
// long for one, and the libraries that are faster build a tree of it, too. It
// reads only what is certain and leaves the rest to ParseLine.
type fastLine struct {
	host, event []byte
	names, vals [][]byte // the variables, and the JSON texts of their values

	hasHost, hasEvent, hasClock, hasVars bool
}

// parse reads a line if it is an event and nothing else, its clock by the
// scanner; ok is unset if it must be read by ParseLine.
func (l *fastLine) parse(text []byte, clock *clockScanner) (ok bool) {
	*l = fastLine{names: l.names[:0], vals: l.vals[:0]}
	valid := false // json.Valid has seen the line
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return false
	}
	for i = skipSpace(text, i+1); ; {
		name, at := plainMember(text, i)
		if at < 0 || at >= len(text) {
			return false
		}
		if i = l.member(string(name), text, at, clock, &valid); i < 0 {
			return false
		}
		if i = skipSpace(text, i); i >= len(text) {
			return false
		}
		if text[i] == '}' {
			return skipSpace(text, i+1) == len(text) && l.hasClock && len(l.host) > 0
		}
		if text[i] != ',' {
			return false
		}
		i = skipSpace(text, i+1)
	}
}

// member reads the value of a member of an event, and returns the index after it; -1 if
// ParseLine must read the line. valid reports whether json.Valid has seen the line.
func (l *fastLine) member(name string, text []byte, i int, clock *clockScanner, valid *bool) int {
	var twice bool
	switch name {
	case "host":
		l.host, i = plainString(text, i)
		l.hasHost, twice = true, l.hasHost
	case "event":
		l.event, i = plainString(text, i)
		l.hasEvent, twice = true, l.hasEvent
	case "clock":
		end, err := clock.scanAt(text, i)
		if err != nil {
			return -1
		}
		i = end
		l.hasClock, twice = true, l.hasClock
	case "vars":
		if text[i] != '{' || l.hasVars {
			return -1
		}
		l.hasVars = true
		i = l.vars(text, i, valid)
	default:
		return -1
	}
	if twice {
		return -1
	}
	return i
}

// vars reads the object of variables that begins at i and returns where it
// ends, -1 if ParseLine has to.
func (l *fastLine) vars(text []byte, i int, valid *bool) int {
	if i = skipSpace(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	for {
		name, at := plainMember(text, i)
		if at < 0 || at >= len(text) {
			return -1
		}
		end := endOfScalar(text, at)
		if end < 0 {
			if !*valid && !json.Valid(text) {
				return -1
			}
			*valid = true
			end = endOfValue(text, at)
		}
		l.names = append(l.names, name)
		l.vals = append(l.vals, text[at:end])
		if i = skipSpace(text, end); i >= len(text) {
			return -1
		}
		if text[i] == '}' {
			return i + 1
		}
		if text[i] != ',' {
			return -1
		}
		i = skipSpace(text, i+1)
	}
}

// plainString returns the inside of the string that begins at i, and where it
// ends; -1 if it is none, or one whose inside does not represent itself.
func plainString(text []byte, i int) (inside []byte, end int) {
	if i >= len(text) || text[i] != '"' {
		return nil, -1
	}
	for j := i + 1; j < len(text); j++ {
		switch b := text[j]; {
		case b == '"':
			return text[i+1 : j], j + 1
		case b < ' ' || b == '\\':
			return nil, -1
		}
	}
	return nil, -1
}

// plainMember returns the name of the member that begins at i, and where its
// value begins, -1 if it is not that simple.
func plainMember(text []byte, i int) (name []byte, value int) {
	name, i = plainString(text, i)
	if i < 0 {
		return nil, -1
	}
	if i = skipSpace(text, i); i >= len(text) || text[i] != ':' {
		return nil, -1
	}
	return name, skipSpace(text, i+1)
}

// endOfScalar returns the index after the integer, the word or the plain string
// that begins at i, -1 if there is another value, or none.
func endOfScalar(text []byte, i int) int {
	start := i
	switch b := text[i]; {
	case b == '"':
		_, end := plainString(text, i)
		return end
	case b == '-' || b >= '0' && b <= '9':
		return endOfInteger(text, i)
	case b == 't' || b == 'f' || b == 'n':
		for i < len(text) && text[i] >= 'a' && text[i] <= 'z' {
			i++
		}
		if w := string(text[start:i]); w == "true" || w == "false" || w == "null" {
			return i
		}
	}
	return -1
}

// endOfInteger returns the index after the integer that begins at i, -1 if there is another number.
func endOfInteger(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	first := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == first || text[first] == '0' && i > first+1 || i < len(text) &&
		(text[i] == '.' || text[i] == 'e' || text[i] == 'E') {
		return -1
	}
	return i
}

// members calls f for each member of a JSON object that is known to be valid
// (json.Valid), with the text of its value. Names with escapes are decoded.
func members(text []byte, f func(name, value []byte) error) error {
	i := skipSpace(text, 1)
	for text[i] != '}' {
		end := endOfString(text, i)
		name := text[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(text[i:end], &s); err != nil {
				return err
			}
			name = []byte(s)
		}
		i = skipSpace(text, end)
		i = skipSpace(text, i+1) // the colon
		end = endOfValue(text, i)
		if err := f(name, text[i:end]); err != nil {
			return err
		}
		i = skipSpace(text, end)
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

// endOfValue returns the index after the valid JSON value that begins at i.
func endOfValue(text []byte, i int) int {
	switch text[i] {
	case '"':
		return endOfString(text, i)
	case '{', '[':
		depth := 0
		for {
			switch text[i] {
			case '"':
				i = endOfString(text, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
		i++
	}
	return i
}

// jsonValue returns the value of valid JSON text.
func (a *assignments) jsonValue(text []byte) (computation.Value, error) {
	switch c := text[0]; {
	case c == 'n':
		return computation.Value{}, nil
	case c == '"' && isPlain(text[1:len(text)-1]):
		return computation.StringValue(string(text[1 : len(text)-1])), nil
	case c == '"' || c == '[' || c == '{':
		return computation.ParseJSON(text)
	}
	return a.token(text), nil // a number, true or false
}

// assignVars assigns the variables of the line.
func (a *assignments) assignVars(l *fastLine) error {
	for k, name := range l.names {
		if err := a.jsonMember(name, l.vals[k]); err != nil {
			return err
		}
	}
	return nil
}

// jsonMember assigns a member of a valid JSON object; the members of an object
// within become variables of their own.
func (a *assignments) jsonMember(name, value []byte) error {
	if value[0] == '{' {
		return members(value, func(inner, value []byte) error {
			return a.jsonMember(append(append(append([]byte(nil), name...), '.'), inner...), value)
		})
	}
	v, err := a.jsonValue(value)
	if err != nil {
		return err
	}
	a.set(name, v)
	return nil
}
