package computation

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Kind is the type of a Value.
type Kind uint8

// The kinds of values. Undefined is the value of a variable that was never
// assigned, and of an expression that has no value (a division by zero).
const (
	Undefined Kind = iota
	Bool
	Int
	Float
	String
	List
	Set
)

var kindNames = [...]string{"undefined", "a boolean", "an integer", "a number", "a string",
	"a list", "a set"}

// String names the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k] }

// Value is the value of a variable in a local state. The zero Value is
// undefined. Values are immutable.
type Value struct {
	kind  Kind
	bits  uint64  // Bool: 0 or 1; Int: two's complement; Float: IEEE bits
	str   string  // String: the text; List, Set: the canonical text
	elems []Value // List, Set: the elements; of a Set sorted and without duplicates
}

// BoolValue returns the boolean b as a value.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

// IntValue returns the integer n as a value.
func IntValue(n int64) Value { return Value{kind: Int, bits: uint64(n)} }

// FloatValue returns x as a value; a whole number of less than 2^53 becomes an
// Int, so that 3 and 3.0 are the same. NaN is undefined.
func FloatValue(x float64) Value {
	if x != x {
		return Value{}
	}
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return IntValue(int64(x))
	}
	return Value{kind: Float, bits: math.Float64bits(x)}
}

// StringValue returns s as a value.
func StringValue(s string) Value { return Value{kind: String, str: s} }

// ListValue returns the list of the elements.
func ListValue(elems []Value) Value {
	return Value{kind: List, str: canonical("[", elems, "]"), elems: elems}
}

// SetValue returns the set of the elements.
func SetValue(elems []Value) Value {
	sorted := append([]Value(nil), elems...)
	sort.Slice(sorted, func(i, j int) bool { return less(sorted[i], sorted[j]) })
	uniq := sorted[:0]
	for i, e := range sorted {
		if i == 0 || !e.Equal(sorted[i-1]) {
			uniq = append(uniq, e)
		}
	}
	return Value{kind: Set, str: canonical("{", uniq, "}"), elems: uniq}
}

// less is a total order of values: by kind, then by value.
func less(a, b Value) bool {
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	switch a.kind {
	case Int:
		return int64(a.bits) < int64(b.bits)
	case Float:
		return math.Float64frombits(a.bits) < math.Float64frombits(b.bits)
	case Bool:
		return a.bits < b.bits
	}
	return a.str < b.str
}

func canonical(open string, elems []Value, end string) string {
	var sb strings.Builder
	sb.WriteString(open)
	for i, e := range elems {
		if i > 0 {
			sb.WriteString(", ")
		}
		sb.WriteString(e.String())
	}
	sb.WriteString(end)
	return sb.String()
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// Defined reports whether v is not Undefined.
func (v Value) Defined() bool { return v.kind != Undefined }

// IsTrue reports whether v is the boolean true.
func (v Value) IsTrue() bool { return v.kind == Bool && v.bits == 1 }

// Int returns the integer of a value of kind Int.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the number of a value of kind Int or Float.
func (v Value) Float() float64 {
	if v.kind == Int {
		return float64(int64(v.bits))
	}
	return math.Float64frombits(v.bits)
}

// Text returns the text of a value of kind String.
func (v Value) Text() string { return v.str }

// Elems returns the elements of a List or a Set; do not change them.
func (v Value) Elems() []Value { return v.elems }

// Bytes returns about how many bytes of memory the value takes beyond itself.
func (v Value) Bytes() int {
	n := len(v.str)
	for _, e := range v.elems {
		n += 80 + e.Bytes()
	}
	return n
}

// IsNumber reports whether v is an Int or a Float.
func (v Value) IsNumber() bool { return v.kind == Int || v.kind == Float }

// Equal reports whether the two values have the same kind and value.
func (v Value) Equal(w Value) bool {
	return v.kind == w.kind && v.bits == w.bits && v.str == w.str
}

// String prints the value as the predicate language writes it.
func (v Value) String() string {
	switch v.kind {
	case Undefined:
		return "undefined"
	case Bool:
		return strconv.FormatBool(v.bits == 1)
	case Int:
		return strconv.FormatInt(int64(v.bits), 10)
	case Float:
		return strconv.FormatFloat(math.Float64frombits(v.bits), 'g', -1, 64)
	case String:
		return strconv.Quote(v.str)
	}
	return v.str
}

// MarshalJSON writes the value as JSON; a set becomes an array, an undefined
// value null. An infinite number, which JSON cannot write, becomes a string.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case Undefined:
		return []byte("null"), nil
	case Bool, Int:
		return []byte(v.String()), nil
	case Float:
		if x := v.Float(); math.IsInf(x, 0) {
			return json.Marshal(v.String())
		}
		return json.Marshal(v.Float())
	case String:
		return json.Marshal(v.str)
	}
	if v.elems == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(v.elems)
}

// ParseJSON reads a value from JSON text: null is undefined, an array a list.
// An object becomes the list of its [key, value] pairs in the order of the
// keys, so that two objects can at least be compared. The error says what is
// wrong with the text.
func ParseJSON(text []byte) (Value, error) {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return Value{}, err
	}
	return FromJSON(x)
}

// FromJSON converts what encoding/json decodes (with or without UseNumber)
// into a value; see ParseJSON. The error names a type that is none of those.
func FromJSON(x any) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Value{}, nil
	case bool:
		return BoolValue(x), nil
	case float64:
		return FloatValue(x), nil
	case json.Number:
		return number(x.String()), nil
	case string:
		return StringValue(x), nil
	case []any:
		elems := make([]Value, len(x))
		for i, e := range x {
			v, err := FromJSON(e)
			if err != nil {
				return Value{}, err
			}
			elems[i] = v
		}
		return ListValue(elems), nil
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		elems := make([]Value, len(keys))
		for i, k := range keys {
			v, err := FromJSON(x[k])
			if err != nil {
				return Value{}, err
			}
			elems[i] = ListValue([]Value{StringValue(k), v})
		}
		return ListValue(elems), nil
	}
	return Value{}, fmt.Errorf("a %T cannot be a value", x)
}

func number(s string) Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return IntValue(n)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(x, 0) {
		return StringValue(s)
	}
	return FloatValue(x)
}

// ParseToken reads a value from an unquoted token of a log: an integer, a
// number, true or false; anything else is a string.
func ParseToken(s string) Value {
	switch s {
	case "true":
		return BoolValue(true)
	case "false":
		return BoolValue(false)
	case "":
		return StringValue("")
	}
	if c := s[0]; c >= '0' && c <= '9' || (c == '-' || c == '+' || c == '.') && len(s) > 1 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return IntValue(n)
		}
		if !strings.ContainsAny(s, "xXpP_nNiI") {
			if x, err := strconv.ParseFloat(s, 64); err == nil {
				return FloatValue(x)
			}
		}
	}
	return StringValue(s)
}

// ValueID represents a value in a Computation; equal values have equal IDs.
// The undefined value has ID 0.
type ValueID uint32

type valueKey struct {
	kind Kind
	bits uint64
	str  string
}

// Values gives each distinct value one ValueID.
type Values struct {
	list []Value
	ids  map[valueKey]ValueID
}

// NewValues returns a table that holds the undefined value only.
func NewValues() *Values {
	return &Values{list: []Value{{}}, ids: map[valueKey]ValueID{{}: 0}}
}

// ID returns the number of v, a new one if v is new.
func (t *Values) ID(v Value) ValueID {
	k := valueKey{v.kind, v.bits, v.str}
	id, ok := t.ids[k]
	if !ok {
		id = ValueID(len(t.list))
		t.list = append(t.list, v)
		t.ids[k] = id
	}
	return id
}

// Value returns the value that has the ID.
func (t *Values) Value(id ValueID) Value { return t.list[id] }

// Len returns the number of distinct values, the undefined one included.
func (t *Values) Len() int { return len(t.list) }

// UnmarshalJSON reads what MarshalJSON writes; a set comes back as a list.
func (v *Value) UnmarshalJSON(text []byte) error {
	x, err := ParseJSON(text)
	*v = x
	return err
}
