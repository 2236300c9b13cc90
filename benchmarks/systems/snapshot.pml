/* snapshot.pml: the snapshot of Chandy and Lamport (1985) in a ring; the twin of
 * snapshot.model. */
#ifndef N
#define N 4
#endif
#ifndef COINS
#define COINS 2
#endif
#ifndef K
#define K 3
#endif

chan ring[N] = [K] of { bool };
byte coins[N] = COINS;
byte recorded[N];	/* one more than the coins that a node had; 0: not yet */
byte inside;		/* coins that were recorded in the channel to the first node */
bool done;

#define next ((_pid + 1) % N)

active [N] proctype Node() {
	bool marker;
	byte k, all;
end:	do
	:: d_step { coins[_pid] > 0 && nfull(ring[next]) ->
		coins[_pid]--;
		ring[next]!false }
	:: d_step { _pid == 0 && recorded[0] == 0 && nfull(ring[next]) ->
		recorded[0] = coins[0] + 1;
		ring[next]!true }
	:: d_step { ring[_pid]?[false] ->
		ring[_pid]?false;
		coins[_pid]++;
		if
		:: _pid == 0 && recorded[0] > 0 && !done -> inside++
		:: else
		fi }
	:: d_step { _pid > 0 && ring[_pid]?[true] && nfull(ring[next]) ->
		ring[_pid]?true;
		recorded[_pid] = coins[_pid] + 1;
		ring[next]!true }
	:: d_step { _pid == 0 && ring[_pid]?[true] ->
		ring[_pid]?true;
		done = true;
		for (k : 0 .. N - 1) { all = all + recorded[k] - 1 }
		assert(all + inside == N * COINS);
		k = 0; all = 0 }
	od
}
