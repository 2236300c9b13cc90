/* abp.pml: the alternating bit protocol over channels with K places that lose messages; the twin
 * of abp.model. */
#ifndef K
#define K 12
#endif
#ifndef DATA
#define DATA 4
#endif

chan packets = [K] of { byte, bool };
chan acks = [K] of { bool };

active proctype Sender() {
	byte data;
	bool bit1, a;
	do
	:: packets!data, bit1
	:: d_step { acks?a ->
		if
		:: a == bit1 ->
			bit1 = !bit1;
			data = (data + 1) % DATA
		:: else
		fi;
		a = false }
	od
}

active proctype Receiver() {
	byte want, d;
	bool bit1, b;
	do
	:: d_step { nfull(acks) && nempty(packets) ->
		packets?d, b;
		if
		:: b == bit1 ->
			assert(d == want);
			want = (want + 1) % DATA;
			bit1 = !bit1
		:: else
		fi;
		acks!b;
		d = 0; b = false }
	od
}

active proctype Noise() {
	do
	:: packets?_, _
	:: acks?_
	od
}
