package system

import "math/bits"

// HashWord hashes a word of a state at its place. The exclusive or of all words' hashes is a hash
// of the state that a machine can keep up to date word by word ([Machine.Hash]).
func HashWord(word int32, v uint64) uint64 {
	hi, lo := bits.Mul64(v^uint64(word)*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo ^ v<<32
}
