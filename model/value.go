package model

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// A codec packs values of one Go type into cells, which are at most a word wide, and back. It is
// computed once, by reflection; a step only moves bits.
type codec struct {
	typ    reflect.Type
	leaves []leaf
	widths []int // of the cells, in bits
	size   uint8 // of a value that is one leaf, in bytes; 0 for others
}

// leaf is a part of a value that has no parts: a number or a Boolean.
type leaf struct {
	offset uintptr // in the value
	size   uint8   // in bytes
	cell   int
	shift  uint8 // in the cell
	mask   uint64
	id     bool // it names a process
}

// maxCells bounds how large a value can be.
const maxCells = 64

// newCodec computes the codec of a type, whose first cell has reserve more bits in front. The error
// says what of the type cannot be part of a state.
func newCodec(t reflect.Type, reserve int) (*codec, error) {
	c := &codec{typ: t, widths: []int{reserve}}
	if err := c.add(t, 0, ""); err != nil {
		return nil, err
	}
	if len(c.leaves) == 1 && c.leaves[0].offset == 0 && c.leaves[0].cell == 0 {
		c.size = c.leaves[0].size
	}
	if len(c.widths) > maxCells {
		return nil, fmt.Errorf("%v is too large: a value may have %d words, and has %d", t,
			maxCells, len(c.widths))
	}
	return c, nil
}

const pointer = "a pointer; a state needs values: use the index of an array of variables"

var instead = map[reflect.Kind]string{
	reflect.Pointer:       pointer,
	reflect.UnsafePointer: pointer,
	reflect.Uintptr:       "an address; use uint64",
	reflect.Map:           "a map; use an array of variables, or an array in the struct",
	reflect.Slice:         "a slice; use an array, such as [4]int8, with a length beside it",
	reflect.Chan:          "a channel of Go; use model.NewChan",
	reflect.Func:          "a function; use a number that says which",
	reflect.Interface:     "an interface; use a struct with a number that says which kind it is",
	reflect.String:        "a string; use a number type with a String method, which traces show",
	reflect.Float32:       "a floating-point number; use integers",
	reflect.Float64:       "a floating-point number; use integers",
	reflect.Complex64:     "a complex number; use integers",
	reflect.Complex128:    "a complex number; use integers",
}

func (c *codec) add(t reflect.Type, offset uintptr, path string) error {
	switch t.Kind() {
	case reflect.Bool:
		c.leaf(offset, 1, 1, false)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.leaf(offset, uint8(t.Size()), int(t.Size())*8, t == reflect.TypeFor[ID]())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			if err := c.add(f.Type, offset+f.Offset, path+"."+f.Name); err != nil {
				return err
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			err := c.add(t.Elem(), offset+uintptr(i)*t.Elem().Size(), path+"[i]")
			if err != nil || len(c.widths) > maxCells {
				return err
			}
		}
	default:
		of := fmt.Sprint(c.typ)
		if path != "" {
			of += ", whose part " + strings.TrimPrefix(path, ".") + " is"
		} else {
			of += " is"
		}
		return fmt.Errorf("%s %s", of, instead[t.Kind()])
	}
	return nil
}

func (c *codec) leaf(offset uintptr, size uint8, bits int, id bool) {
	last := len(c.widths) - 1
	if c.widths[last]+bits > 64 {
		c.widths = append(c.widths, 0)
		last++
	}
	c.leaves = append(c.leaves, leaf{offset, size, last, uint8(c.widths[last]), ones(bits), id})
	c.widths[last] += bits
}

func ones(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// cell is where some bits of a state are.
type cell struct {
	word  int32
	shift uint8
	mask  uint64 // before the shift
}

func (c cell) get(words []uint64) uint64 { return words[c.word] >> (c.shift & 63) & c.mask }

func (c cell) put(words []uint64, v uint64) {
	words[c.word] = words[c.word]&^(c.mask<<(c.shift&63)) | v&c.mask<<(c.shift&63)
}

// place is where a value of the type of a codec is.
type place struct {
	*codec
	cells []cell
	one   cell // of the only leaf, if size is not 0
}

// locate says where the value is, which is there if in is nil or not 0. It notes what of it names
// processes.
func (p *place) locate(m *machine, cells []cell, in *cell) {
	p.cells = cells
	for i := range p.leaves {
		if l := &p.leaves[i]; l.id {
			at := cells[l.cell]
			m.ids = append(m.ids, idCell{cell{at.word, at.shift + l.shift, l.mask}, in})
		}
	}
	if p.size != 0 {
		l := &p.leaves[0]
		p.one = cell{cells[0].word, cells[0].shift + l.shift, l.mask}
	}
}

// put stores the lowest bytes of v at p.
func put(p unsafe.Pointer, size uint8, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	case 8:
		*(*uint64)(p) = v
	}
}

// peek returns the bytes at p as a number.
func peek(p unsafe.Pointer, size uint8) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// load returns the value at a place.
func load[T any](words []uint64, p *place) (t T) {
	if p.size != 0 {
		put(unsafe.Pointer(&t), p.size, p.one.get(words))
		return t
	}
	for i := range p.leaves {
		l := &p.leaves[i]
		put(unsafe.Add(unsafe.Pointer(&t), l.offset), l.size,
			p.cells[l.cell].get(words)>>l.shift&l.mask)
	}
	return t
}

// raw returns the contents of cell i of a value.
func raw[T any](c *codec, t *T, i int) uint64 {
	v := uint64(0)
	for k := range c.leaves {
		if l := &c.leaves[k]; l.cell == i {
			v |= peek(unsafe.Add(unsafe.Pointer(t), l.offset), l.size) & l.mask << l.shift
		}
	}
	return v
}
