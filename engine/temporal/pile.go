package temporal

import "unsafe"

// pile is a stack in pieces: it grows without being copied, so a deep search needs no room for
// two copies.
type pile[T any] struct {
	pieces [][]T
	n      int
}

const pieceSize = 1 << 10

func (p *pile[T]) push(v T) (grown int) {
	k := p.n / pieceSize
	if k == len(p.pieces) {
		p.pieces = append(p.pieces, make([]T, pieceSize))
		grown = pieceSize * int(unsafe.Sizeof(v))
	}
	p.pieces[k][p.n%pieceSize] = v
	p.n++
	return grown
}

func (p *pile[T]) pop() T {
	p.n--
	return p.pieces[p.n/pieceSize][p.n%pieceSize]
}

func (p *pile[T]) at(i int) *T { return &p.pieces[i/pieceSize][i%pieceSize] }

func (p *pile[T]) top() *T { return p.at(p.n - 1) }
