package statestore

import (
	"math/rand/v2"
	"testing"
)

// TestKnown: what a table of known values finds is what was entered last for the same bits of the
// part, whatever the other bits are, and a table that is too small grows up to its limit.
func TestKnown(t *testing.T) {
	room := allKnownWords
	k := &known{first: 1, masks: []uint64{0xffff_0000, ^uint64(0), 0xff}, room: &room}
	k.resize(minKnownBits)
	type value [3]uint64
	numbers := map[value]uint32{}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 1 << 14 {
		s := make([]uint64, 5)
		for i := range s {
			s[i] = r.Uint64()
		}
		s[1], s[2], s[3] = s[1]&^0xff00_0000, uint64(r.IntN(16)), s[3]&^0xfe
		v := value{s[1] & k.masks[0], s[2], s[3] & k.masks[2]}
		number, at := k.find(s)
		switch {
		case number == 0:
			if numbers[v] == 0 {
				numbers[v] = uint32(len(numbers) + 1)
			}
			k.enter(s, numbers[v], at)
			if got, _ := k.find(s); got != numbers[v] {
				t.Fatalf("%x was entered as %d and found as %d", v, numbers[v], got)
			}
		case number != numbers[v]:
			t.Fatalf("%x is %d, not %d", v, number, numbers[v])
		default:
			found++
		}
	}
	if entries := len(k.entries) / 4; entries != 1<<maxKnownBits || len(k.entries) > knownWords {
		t.Errorf("%d entries with %d words, want %d", entries, len(k.entries), 1<<maxKnownBits)
	}
	if room != allKnownWords-len(k.entries) {
		t.Errorf("there is room for %d words beside %d", room, len(k.entries))
	}
	if found == 0 {
		t.Error("nothing was found again")
	}
}
