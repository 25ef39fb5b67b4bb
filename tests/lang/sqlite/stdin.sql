create table lines (line text);
.import /dev/stdin lines
select upper(line) as line from lines;
