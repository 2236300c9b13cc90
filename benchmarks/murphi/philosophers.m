-- philosophers.m: the twin of philosophers.model for checkers of Murphi's language.
--
-- Granularity and states are the same: taking and releasing a fork is one rule each.
-- Rumur has no constants on its command line: the harness writes N before it runs.
const N: 5;

type id: 0 .. N-1;

var fork: array [id] of boolean; -- taken
var pc: array [id] of 0 .. 3;

startstate begin
  for i: id do
    fork[i] := false;
    pc[i] := 0;
  end;
end;

ruleset i: id do
  rule "take left" pc[i] = 0 & !fork[i] ==> begin fork[i] := true; pc[i] := 1; end;
  rule "take right" pc[i] = 1 & !fork[(i+1) % N] ==> begin fork[(i+1) % N] := true; pc[i] := 2; end;
  rule "release right" pc[i] = 2 ==> begin fork[(i+1) % N] := false; pc[i] := 3; end;
  rule "release left" pc[i] = 3 ==> begin fork[i] := false; pc[i] := 0; end;
end;
