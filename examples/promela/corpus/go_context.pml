/* A tree of contexts: cancelling one cancels those below it, each in a goroutine of its own. */
#ifndef N
#define N 7
#endif
bool done[N];

proctype Watch(byte i) { done[(i - 1) / 2]; done[i] = true }

active proctype Cancel() { byte i; for (i : 1 .. N - 1) { run Watch(i) } done[0] = true }

active proctype Leaf() { done[N - 1]; assert(done[(N - 2) / 2] && done[0]) }
