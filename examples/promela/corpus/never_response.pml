/* A never claim in its own words: each request is followed by an answer. -D BUG: the
   server may lose one. */
bool request, answer;

active proctype Client() {
	do
	:: !request -> answer = false; request = true;
	   answer
	od
}

active proctype Server() {
	do
	:: request ->
#ifdef BUG
	   if
	   :: answer = true
	   :: skip
	   fi;
#else
	   answer = true;
#endif
	   request = false
	od
}

never {
	do
	:: true
	:: request && !answer -> goto waiting
	od;
waiting:
accept:
	do
	:: !answer
	od
}
