"""What every translation is made of: one node of the file, the Graph under construction, formulas over its values, the table of rules."""
