package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
)

// Fact is something that a program has seen of the disk: the state of a file, its content, the
// names in a directory, where a link leads, a time zone.
type Fact struct {
	How  string // one of the constants below
	Path string
	Root string `json:",omitempty"` // the Go installation, for time zones
	Sum  string // of what was seen
}

const (
	seenFile = "file" // with links followed
	seenLink = "link" // of links themselves
	seenText = "text"
	seenList = "list"
	seenGoal = "goal" // of a link
	seenZone = "zone"
)

// Seen collects facts. Several systems may use one at once. A nil one collects nothing.
type Seen struct {
	mu    sync.Mutex
	facts map[Fact]bool
}

func (s *Seen) add(f Fact) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.facts == nil {
		s.facts = map[Fact]bool{}
	}
	s.facts[f] = true
}

// Facts returns what was seen, sorted.
func (s *Seen) Facts() []Fact {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Fact, 0, len(s.facts))
	for f := range s.facts {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.How, b.How),
			cmp.Compare(a.Sum, b.Sum))
	})
	return all
}

// Holds reports whether a program would see the same now.
func (f Fact) Holds() bool {
	now := new(Seen)
	d, z := disk{seen: now}, zones{seen: now}
	switch f.How {
	case seenFile, seenLink:
		d.stat(f.Path, f.How == seenFile)
	case seenText:
		d.read(f.Path)
	case seenList:
		d.list(f.Path)
	case seenGoal:
		d.goal(f.Path)
	case seenZone:
		z.data(f.Root, f.Path)
	}
	return now.facts[f]
}

// sum is the digest of what was seen.
func sum(x ...any) string {
	h := sha256.New()
	for _, v := range x {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(v))
	}
	return hex.EncodeToString(h.Sum(nil))
}
