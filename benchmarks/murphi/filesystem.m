-- filesystem.m: the twin of filesystem.model for checkers of Murphi's language.
--
-- One rule for each shared access, and the local computation after it.
const N: 6;
      inodes: 32;
      blocks: 26;

type id: 0 .. N-1;
type at: enum { lockinode, readinode, lockblock, readbusy, writebusy, writeinode, unlockblock, unlocknext, unlockinode, ended };

var locki: array [0 .. inodes-1] of boolean;
var inode: array [0 .. inodes-1] of 0 .. blocks;
var lockb: array [0 .. blocks-1] of boolean;
var busy: array [0 .. blocks-1] of boolean;
var pc: array [id] of at;
var b: array [id] of 0 .. blocks-1;

startstate begin
  for i: 0 .. inodes-1 do locki[i] := false; inode[i] := 0; end;
  for i: 0 .. blocks-1 do lockb[i] := false; busy[i] := false; end;
  for t: id do pc[t] := lockinode; b[t] := 0; end;
end;

ruleset t: id do
  rule "lock inode" pc[t] = lockinode & !locki[t % inodes] ==> begin
    locki[t % inodes] := true; pc[t] := readinode;
  end;
  rule "read inode" pc[t] = readinode ==> begin
    if inode[t % inodes] = 0 then
      b[t] := ((t % inodes) * 2) % blocks; pc[t] := lockblock;
    else
      pc[t] := unlockinode;
    end;
  end;
  rule "lock block" pc[t] = lockblock & !lockb[b[t]] ==> begin
    lockb[b[t]] := true; pc[t] := readbusy;
  end;
  rule "read busy" pc[t] = readbusy ==> begin
    if busy[b[t]] then pc[t] := unlocknext; else pc[t] := writebusy; end;
  end;
  rule "write busy" pc[t] = writebusy ==> begin
    busy[b[t]] := true; pc[t] := writeinode;
  end;
  rule "write inode" pc[t] = writeinode ==> begin
    inode[t % inodes] := b[t] + 1; pc[t] := unlockblock;
  end;
  rule "unlock block" pc[t] = unlockblock ==> begin
    lockb[b[t]] := false; b[t] := 0; pc[t] := unlockinode;
  end;
  rule "unlock block, take the next" pc[t] = unlocknext ==> begin
    lockb[b[t]] := false; b[t] := (b[t] + 1) % blocks; pc[t] := lockblock;
  end;
  rule "unlock inode" pc[t] = unlockinode ==> begin
    locki[t % inodes] := false; pc[t] := ended;
  end;
end;
