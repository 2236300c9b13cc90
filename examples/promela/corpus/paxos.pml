/* Single-decree Paxos: P proposers with a ballot each, A acceptors, messages in bags
   (channels with random receive). -D BUG: a proposer ignores what was accepted before. */
#ifndef A
#define A 3
#endif
#ifndef P
#define P 2
#endif
#define MAJ (A / 2 + 1)
mtype = { p1a, p1b, p2a, p2b };
chan acc[A] = [2 * P] of { mtype, byte, byte };            /* kind, ballot, value */
chan pro[P] = [2 * A] of { mtype, byte, byte };            /* kind, accepted ballot, value */
byte chosen;

proctype Acceptor(byte me) {
	byte promised, ab, av, b, v;
end:	do
	:: atomic { acc[me]?p1a(b, _) ->
	   if
	   :: b > promised -> promised = b; pro[b - 1]!p1b(ab, av)
	   :: else
	   fi }
	:: atomic { acc[me]?p2a(b, v) ->
	   if
	   :: b >= promised -> promised = b; ab = b; av = v; pro[b - 1]!p2b(b, v)
	   :: else
	   fi }
	od
}

proctype Proposer(byte me) {
	byte value = me + 7, best, b, v, n, i;
	atomic { for (i : 0 .. A - 1) { acc[i]!p1a(me + 1, 0) } }
	n = 0;
	do
	:: n < MAJ ->
endWait:
	   atomic { pro[me]??p1b(b, v) ->
	   if
#ifndef BUG
	   :: b > best -> best = b; value = v
#endif
	   :: else
	   fi;
	   n++ }
	:: n >= MAJ -> break
	od;
	atomic { for (i : 0 .. A - 1) { acc[i]!p2a(me + 1, value) } }
	n = 0;
	do
	:: n < MAJ ->
endAck:    pro[me]??p2b(_, _); n++
	:: else -> break
	od;
	assert(chosen == 0 || chosen == value);
	chosen = value
}

init {
	byte k;
	atomic {
		for (k : 0 .. A - 1) { run Acceptor(k) }
		for (k : 0 .. P - 1) { run Proposer(k) }
	}
end:	false
}
