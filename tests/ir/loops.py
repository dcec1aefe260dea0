"""A graph with a loop in a loop, as text."""

LOOPS = """\
graph loops
input %x: float32[9,2]
input %s: float32[2]
%last: float32[2], %rows: float32[9,2] = Loop(_, %s, %x) {states=1, turns=9} "outer"
  body "of all rows"
  input %turn: int64[]
  input %state: float32[2]
  input %x: float32[9,2]
  const %on: bool[] = true
  %row: float32[2] = Gather(%x, %turn) {axis=0} "take"
  %next: float32[2] = Loop(%on, %state, %row) {states=1, turns=12} "inner"
    body inner
    input %turn: int64[]
    input %state: float32[2]
    input %row: float32[2]
    const %off: bool[] = false
    %next: float32[2] = Add(%state, %row) "add"
    output %off
    output %next
    end
  output %next
  output %row
  end
output %last
output %rows
"""
