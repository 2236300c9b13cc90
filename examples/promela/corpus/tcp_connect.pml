/* Opening a connection in three steps, with simultaneous open, duplicates and resets. */
mtype = { syn, synack, ack, rst };
mtype:st = { closed, listen, synsent, synrcvd, established };
chan c2s = [2] of { mtype };
chan s2c = [2] of { mtype };
mtype:st client = closed, server = listen;

active proctype Client() {
	byte tries;
	do
	:: client == closed && tries < 2 -> tries++; client = synsent; c2s!syn
	:: client == synsent && s2c?[synack] -> s2c?synack; client = established; c2s!ack
	:: client == synsent && s2c?[syn] -> s2c?syn; client = synrcvd; c2s!synack
	:: client == synrcvd && s2c?[ack] -> s2c?ack; client = established
	:: s2c?rst -> client = closed
	:: client == established && s2c?[synack] -> s2c?synack; c2s!ack
	:: client == established && empty(s2c) -> break
	:: timeout ->
	   if
	   :: client == synsent -> c2s!syn
	   :: else -> break
	   fi
	od
}

active proctype Server() {
	bool lost;
end:	do
	:: server == listen && c2s?[syn] -> c2s?syn; server = synrcvd; s2c!synack
	:: server == synrcvd && c2s?[ack] -> c2s?ack; server = established
	:: server == synrcvd && c2s?[syn] -> c2s?syn; s2c!synack
	:: server == established && nempty(c2s) -> c2s?_
	:: server == listen && c2s?[ack] -> c2s?ack; s2c!rst
	:: !lost && nempty(c2s) -> c2s?_; lost = true
	od
}

ltl both { [] (client == established -> <> (server == established)) }
