/* The mine pump (Kramer et al., 1983): water rises, methane comes and goes, a controller switches
 * the pump. */
#ifndef H
#define H 14
#endif
#ifndef P
#define P 6
#endif
byte water;
bool methane, pump, broken;
byte clock;

active proctype Water() {
	do
	:: d_step { water < H -> water++ }
	od
}

active proctype Methane() {
	do
	:: methane = true; methane = false
	od
}

active proctype Pump() {
	do
	:: d_step { pump && water > 0 -> water-- }
	od
}

active proctype Controller() {
	do
	:: d_step { water > 10 && !methane && !pump -> pump = true }
	:: d_step { pump && (methane || water < 2) -> pump = false }
	od
}

active [2] proctype Clock() {
	byte t;
	do
	:: d_step { t = (t + 1) % P; clock = (clock + 1) % 3 }
	od
}

ltl dry { [] (pump -> <> !pump) }
ltl bounded { [] (water <= H) }
ltl order { (!pump) W (water > 10) }
