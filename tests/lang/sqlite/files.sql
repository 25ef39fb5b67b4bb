create table lines (line text);
.import data/in.txt lines
.once /sandbox/output/out.txt
select upper(line) as line from lines;
