-- indexer.m: the twin of indexer.model for checkers of Murphi's language.
--
-- One rule for each compare-and-swap, with the getmsg and hash that follow it.
const N: 12;
      size: 128;
      max: 4;

type id: 0 .. N-1;

var table: array [0 .. size-1] of 0 .. 255;
var m: array [id] of 1 .. max+1; -- max+1: the thread has ended
var h: array [id] of 0 .. size-1;

startstate begin
  for i: 0 .. size-1 do table[i] := 0; end;
  for t: id do
    m[t] := 1;
    h[t] := ((11 + t) * 7) % size;
  end;
end;

ruleset t: id do
  rule "insert" m[t] <= max & table[h[t]] = 0 ==> begin
    table[h[t]] := m[t] * 11 + t;
    m[t] := m[t] + 1;
    if m[t] <= max then
      h[t] := ((m[t] * 11 + t) * 7) % size;
    else
      h[t] := 0;
    end;
  end;
  rule "go on" m[t] <= max & table[h[t]] != 0 ==> begin
    h[t] := (h[t] + 1) % size;
  end;
end;
