package system

import "math"

// Op names what a transition does to a location if that commutes with what other transitions do
// to it: it adds a number ([Addition], [Sum]), or stores one ([Store]). The zero value stands for
// an ordinary read or write, which commutes with nothing but reads.
//
// # What a system promises
//
//	up(s)      at 3, maximum 10: {Loc: s, Write: true, Op: Addition(1), Room: 6}
//	down(s)    at 3: {Loc: s, Write: true, Op: Addition(-1), Room: 2}
//	wait(wg)   at 3: {Loc: wg, Op: Addition(-1), Room: 2}, blocked
//	n.Add(5), wrapping, result unused: {Loc: n, Write: true, Op: Sum, Room: Unlimited}
//	flag = 1: {Loc: flag, Write: true, Op: Store(1), Room: Unlimited}
//
// Operations are alike ([Op.Like]) if both raise the value, if both lower it, if both are sums,
// or if both store the same number. Room is by how much the value may have moved in the direction
// of the operation. A transition T has an access with an operation only if it keeps these promises,
// as long as the other values that it reads are what they are.
//
//   - Fewer: if operations like Op that were executed on the location since it was last
//     accessed in any other way had not been executed, T would do the same.
//   - More: if further such operations came before T, which together move the value by at most
//     Room, T would do the same.
//   - Other: if further additions of the opposite sign came before T, each of which succeeds where
//     it is, T would do the same, with as much more room.
//
// To do the same is to move or to be blocked as before, with the same violations, the same local
// part behind it, the same values written elsewhere, and the same accesses, but for Room, which
// shrinks by at most what the operations before T add. If Write is set, T executes the operation
// and the result is that of the operation on the value before; if not, T only looks, and leaves the
// location as it is.
//
// So the number of a waitgroup may be lowered by two done in either order while it is at least
// 2. At 1 the second would fail, and Room, which is 0, says so: there the two are dependent,
// like a write and a write. A failing done is an ordinary read of the number, as everything that
// goes wrong is, and so is a blocked down. An addition that can fail nowhere, because it wraps
// around, is a sum.
//
// # What follows
//
// Two accesses of one location are independent if both only read, or if their operations are alike
// and there is room. It depends on the question how much room is needed:
//
//   - Transitions of one state ([Access.Conflicts]): each has room for the other. Then by
//     More they are enabled in both orders, do the same, and lead to the same state. Additions of
//     opposite signs that are both enabled need no room, by Other.
//   - Events of one execution that took place one behind the other ([Access.Orders]): like
//     operations are enough, whatever room is left. The first had the second's operation behind it
//     and not before it; exchanged, the second comes first, which is Fewer; the first comes
//     second, after one further operation, and has done what the second did from the value that
//     the second found (the interval of values in which the location's operations succeed contains
//     what lies between two of its values).
//   - A transition and a set of others that may all come before it: room for all of them together.
//     That each pair commutes is not enough: three done at 2.
//
// Events of opposite signs are dependent. At 0, up, up, down is one execution of three threads:
// the down needs one of the two up, and does not care which. No order of events says that, so an
// engine that reasons about the order of events would have to fix which (package stateless does not
// try). Cartesian vectors reason about one state, in which such additions are independent.
//
// An engine that ignores operations sees reads and writes in Write, and loses only what could be
// saved. [Plain] makes ordinary accesses of a list, for whoever puts several transitions together
// or adds up what they did.
//
// Stoller ("Model-Checking Multi-Threaded Distributed Java Programs", 2000, sections 7 and 11)
// calls this conditional dependence; that room can be counted for many at once is the idea of
// the escrow method (O'Neil, ACM TODS 11 (4), 1986).
type Op uint8

// Unlimited is the room of an operation that is never refused. It is never counted down.
const Unlimited = math.MaxUint16

const (
	largest = 63 // the largest number that an operation can add, or -1 times that
	// Operations above Sum store these numbers:
	leastStored, mostStored = -1, 125
)

// Sum is the operation that adds any number and wraps around. It is never refused, and so
// commutes with all of its kind, whatever they add.
const Sum Op = 128

// Addition returns the operation that adds d to a number that has bounds, or 0 if there is none for
// so large a number, or for 0.
func Addition(d int64) Op {
	if d == 0 || d < -largest || d > largest {
		return 0
	}
	return Op(d + largest + 1)
}

// Store returns the operation that stores v, whatever the value was before, or 0 if there is none
// for v. Its room is Unlimited.
func Store(v int64) Op {
	if v < leastStored || v > mostStored {
		return 0
	}
	return Sum + Op(v-leastStored) + 1
}

// Adds returns what an addition with bounds adds, 0 for other operations.
func (o Op) Adds() int {
	if o == 0 || o >= Sum {
		return 0
	}
	return int(o) - largest - 1
}

// Size is how much room the operation takes from another one that is like it; 0 if none.
func (o Op) Size() int {
	d := o.Adds()
	return max(d, -d)
}

// Like reports whether two operations are alike: neither is 0, and one may come before the other if
// there is room.
func (o Op) Like(p Op) bool {
	if o == p {
		return o != 0
	}
	d, e := o.Adds(), p.Adds()
	return d > 0 && e > 0 || d < 0 && e < 0
}

// Opposes reports whether two operations are additions with opposite signs.
func (o Op) Opposes(p Op) bool {
	d, e := o.Adds(), p.Adds()
	return d > 0 && e < 0 || d < 0 && e > 0
}

// Room returns n as the room of an access.
func Room(n int64) uint16 {
	return uint16(max(0, min(n, Unlimited-1)))
}

// Admits reports whether an access has room for an operation of a transition before its own.
func (a Access) Admits(o Op) bool { return a.Room == Unlimited || o.Size() <= int(a.Room) }

// Conflicts reports whether two accesses make their transitions dependent, which are of
// different threads and of the same state.
func (a Access) Conflicts(b Access) bool {
	if a.Loc != b.Loc || !a.Write && !b.Write || a.Op.Opposes(b.Op) {
		return false
	}
	return !a.Op.Like(b.Op) || b.Write && !a.Admits(b.Op) || a.Write && !b.Admits(a.Op)
}

// Orders reports whether two accesses make their transitions dependent, which are of different
// threads and were executed one after the other, in either order.
func (a Access) Orders(b Access) bool {
	return a.Loc == b.Loc && (a.Write || b.Write) && !a.Op.Like(b.Op)
}

// Same reports whether two accesses are the same but for their room.
func (a Access) Same(b Access) bool { return a.Loc == b.Loc && a.Write == b.Write && a.Op == b.Op }

// Plain makes all accesses of a list ordinary ones, in place, and returns it.
func Plain(accesses []Access) []Access {
	for i := range accesses {
		accesses[i].Op, accesses[i].Room = 0, 0
	}
	return accesses
}
