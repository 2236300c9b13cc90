/* The echo algorithm (Chang, 1982) on a complete graph: a wave through all links and back. */
#ifndef N
#define N 3
#endif

chan to[N] = [N] of { byte };
byte parent[N] = N;
bool decided;

active [N] proctype Node() {
	byte from, heard, k;
	if
	:: _pid == 0 -> parent[0] = 0
	:: _pid > 0 -> to[_pid]?from; d_step { parent[_pid] = from; heard = 1 }
	fi;
	do
	:: k < N && k != _pid && (k != parent[_pid] || _pid == 0) -> to[k]!_pid; k++
	:: k < N && (k == _pid || k == parent[_pid] && _pid > 0) -> k++
	:: k == N -> break
	od;
	do
	:: heard < N - 1 -> to[_pid]?from; heard++
	:: else -> break
	od;
	if
	:: _pid == 0 -> decided = true
	:: _pid > 0 -> to[parent[_pid]]!_pid
	fi
}
