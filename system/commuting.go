package system

import "math"

// Op names what a transition does to a location if that commutes with the same operation of
// other transitions: it adds a certain number, or any ([Sum]). The zero value stands
// for an ordinary read or write, which commutes with nothing but reads.
//
// # What a system promises
//
//	done(wg)   at 3: {Loc: wg, Write: true, Op: Addition(-1), Room: 2}
//	wait(wg)   at 3: {Loc: wg, Op: Addition(-1), Room: 2}, blocked
//	n.Add(5), wrapping, result unused: {Loc: n, Write: true, Op: Addition(5), Room: Unlimited}
//
// A transition T has an access with an operation only if it keeps two promises, as long as the
// other values that it reads are what they are.
//
//   - Fewer: if operations equal to Op that were executed on the location since it was last
//     accessed in any other way had not been executed, T would do the same.
//   - More: if up to Room further such operations came before T, T would do the same.
//
// To do the same is to move or to be blocked as before, with the same violations, the same local
// part behind it, the same values written elsewhere, and the same accesses, but for Room, which
// shrinks by at most one with each operation that comes before T. If Write is set, T executes
// the operation and the result is that of the operation on the value before; if not, T only
// looks, and leaves the location as it is.
//
// So the number of a waitgroup may be lowered by two done in either order while it is at least
// 2. At 1 the second would fail, and Room, which is 0, says so: there the two are dependent,
// like a write and a write. A failing done is an ordinary read of the number, as everything that
// goes wrong is. An addition that can fail nowhere, because it wraps around or nobody looks
// whether the value is in range, has room for an [Unlimited] number.
//
// # What follows
//
// Two accesses of one location are independent if both only read, or if they have the same
// operation and room. It depends on the question how much room is needed:
//
//   - Transitions of one state ([Access.Conflicts]): each has room for the other. Then by
//     More they are enabled in both orders, do the same, and lead to the same state, since equal
//     operations commute.
//   - Events of one execution that took place one behind the other ([Access.Orders]): equal
//     operations are enough, whatever room is left. The first had the second's operation behind it
//     and not before it; exchanged, the second comes first, which is Fewer; the first comes
//     second, after one further operation, and has done what the second did from the value that
//     the second found (an interval of values in which the operation succeeds contains what lies
//     between two of its values).
//   - A transition and a set of others that may all come before it: room for all of them together.
//     That each pair commutes is not enough: three done at 2.
//
// An engine that knows nothing of this sees reads and writes in Write, and loses only what could be
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
	smallest = -127 // of the numbers that an operation can add
	largest  = 127
)

// Sum is the operation that adds any number and wraps around. It is never refused, and so
// commutes with all of its kind, whatever they add.
const Sum Op = 1 - smallest

// Addition returns the operation that adds d, or 0 if there is none for so large a number, or
// for 0.
func Addition(d int64) Op {
	if d == 0 || d < smallest || d > largest {
		return 0
	}
	return Op(d - smallest + 1)
}

// Room returns n as the room of an access.
func Room(n int64) uint16 {
	return uint16(max(0, min(n, Unlimited)))
}

// Conflicts reports whether two accesses make their transitions dependent, which are of
// different threads and of the same state.
func (a Access) Conflicts(b Access) bool {
	return a.Orders(b) || a.Loc == b.Loc && (b.Write && a.Room == 0 || a.Write && b.Room == 0) &&
		(a.Write || b.Write)
}

// Orders reports whether two accesses make their transitions dependent, which are of different
// threads and were executed one after the other, in either order.
func (a Access) Orders(b Access) bool {
	return a.Loc == b.Loc && (a.Write || b.Write) && (a.Op == 0 || a.Op != b.Op)
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
